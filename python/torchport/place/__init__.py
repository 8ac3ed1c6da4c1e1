"""Placement: one device policy, moving, modules, checkpoints."""

__all__: list[str] = []
