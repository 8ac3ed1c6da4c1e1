"""Quantities as text, spelled the same in every report and message."""

from __future__ import annotations


def size(count: float) -> str:
    """Bytes in binary units.

    Example:
        >>> size(512), size(1536), size(80 * 2**30)
        ('512 B', '1.5 KiB', '80.00 GiB')
    """
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.2f} GiB"


def counted(count: int, thing: str) -> str:
    """A number with its noun in the singular or the plural.

    Example:
        >>> counted(1, "module"), counted(2, "module")
        ('1 module', '2 modules')
    """
    return f"{count} {thing}{'' if count == 1 else 's'}"
