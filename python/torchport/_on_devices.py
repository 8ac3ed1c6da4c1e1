"""How messages list tensors on several devices."""

from __future__ import annotations

from collections.abc import Iterable


def on_devices(tensors: Iterable[tuple[str, object]]) -> str:
    """[("x", "cuda:0"), ("y", "cpu")] -> "x on cuda:0 and y on cpu"; empty if there are none."""
    *others, last = [f"{name} on {device}" for name, device in tensors] or [""]
    return f"{', '.join(others)} and {last}" if others else last
