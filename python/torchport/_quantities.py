"""Quantities as text and sizes from text, spelled the same in every report and message."""

from __future__ import annotations

# Longer endings first: "KiB" also ends in "B".
_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "KB": 10**3, "MB": 10**6, "GB": 10**9, "B": 1}


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


def parse_size(text: str | int) -> int:
    """Bytes from "5GB", "500MiB" or a number. Raises ValueError for anything else.

    Example:
        >>> parse_size("1.5KiB"), parse_size("2GB"), parse_size(7)
        (1536, 2000000000, 7)
    """
    if isinstance(text, int):
        return text
    unit = next((unit for unit in _UNITS if text.endswith(unit)), "")
    try:
        return int(float(text.removesuffix(unit)) * _UNITS.get(unit, 1))
    except (ValueError, OverflowError):
        raise ValueError(f'torchport: {text!r} is not a size, such as "5GB" or "500MiB"') from None


def counted(count: int, thing: str) -> str:
    """A number with its noun in the singular or the plural.

    Example:
        >>> counted(1, "module"), counted(2, "module")
        ('1 module', '2 modules')
    """
    return f"{count} {thing}{'' if count == 1 else 's'}"
