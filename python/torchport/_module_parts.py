"""Names the largest parts of a module that are wholly on one device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_SHOWN = 3


def whole_parts(places: Mapping[str, str]) -> dict[str, list[str]]:
    """The names of the largest parts on each device: modules, and tensors of modules on several.

    ``places`` has the device of each tensor by its full name. If all are on one device, the part is
    the whole module, "".
    """
    parts: dict[str, list[str]] = {}
    waiting = [("", dict(places))]
    while waiting:
        prefix, inside = waiting.pop()
        devices = set(inside.values())
        if len(devices) == 1:
            parts.setdefault(devices.pop(), []).append(prefix)
            continue
        children: dict[str, dict[str, str]] = {}
        for name, device in inside.items():
            rest = name[len(prefix) + 1 :] if prefix else name
            child = (f"{prefix}." if prefix else "") + rest.partition(".")[0]
            children.setdefault(child, {})[name] = device
        waiting.extend(reversed(children.items()))
    return parts


def shortened(names: Sequence[str]) -> str:
    """Some names as text.

    Example:
        >>> shortened(["a", "b"]), shortened("abcde")
        ('a, b', 'a, b, c and 2 more')
    """
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
