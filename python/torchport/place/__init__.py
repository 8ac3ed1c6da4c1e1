"""Placement: one device policy, moving, modules, checkpoints."""
