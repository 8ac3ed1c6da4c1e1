"""An extension that its tests build."""
