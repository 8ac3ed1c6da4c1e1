"""Text for a terminal: names and sources of other people must not control it."""

from __future__ import annotations

import sys

# The control characters but line ends and tabs, and the marks and overrides of direction (Unicode 16, C0, C1,
# Bidi_Control); src/base/text.h does the same in C++.
_CONTROLS = [
    *(set(range(0x20)) - {0x09, 0x0A}),
    *range(0x7F, 0xA0),
    0x061C, 0x200E, 0x200F,
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
]  # fmt: skip
_SHOWN = dict.fromkeys(_CONTROLS, "\N{REPLACEMENT CHARACTER}")


def printable(text: object) -> str:
    return str(text).translate(_SHOWN)


def complain(text: object) -> None:
    """Prints a message to standard error."""
    print(printable(text), file=sys.stderr)
