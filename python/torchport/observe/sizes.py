"""Numbers for people."""

from __future__ import annotations


def size(count: float) -> str:
    """1536 -> "1.5 KiB"."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.2f} GiB"


def counted(count: int, thing: str) -> str:
    """(2, "module") -> "2 modules"."""
    return f"{count} {thing}{'' if count == 1 else 's'}"
