"""Watching a model run: where its tensors are, what mixes devices, what copies."""

from __future__ import annotations

from importlib import import_module as _import_module

# Looked up when first used: the command sets up virtual devices before torch is imported.
_HOMES = {
    "Verification": "result",
    "require_same_device": "require",
    "verify": "verifying",
}

__all__ = ["Verification", "require_same_device", "verify"]


def __getattr__(name: str):  # type: ignore[no-untyped-def]
    if name in _HOMES:
        return getattr(_import_module(f"torchport.observe.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'torchport.observe' has no attribute {name!r}")
