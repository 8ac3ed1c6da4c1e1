"""The words for tensors on several devices, the same in every message."""

from __future__ import annotations

from collections.abc import Iterable


def on_devices(tensors: Iterable[tuple[str, object]]) -> str:
    """[("x", "cuda:0"), ("y", "cpu")] -> "x on cuda:0 and y on cpu"; empty for no tensors."""
    *others, last = [f"{name} on {device}" for name, device in tensors] or [""]
    return f"{', '.join(others)} and {last}" if others else last
