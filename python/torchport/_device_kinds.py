"""The device kinds that src/devices describes; the build writes them into a table.

This module reads the table without importing torch, for code that needs the kinds before torch is
loaded. A new kind is a file in src/devices/kinds; nothing here changes for it.
"""

from __future__ import annotations

import functools
import glob
import json
import platform
from dataclasses import dataclass

from torchport import _libraries


@dataclass(frozen=True)
class DeviceKind:
    """What Python needs to know about a kind; src/devices/device_kind.h documents the members."""

    name: str
    device_type: int
    several: bool
    has_streams: bool
    out_of_tree: bool
    visibility_variable: str
    system: str
    device_files: tuple[str, ...]
    profiles: tuple[str, ...]


@functools.cache
def kinds() -> tuple[DeviceKind, ...]:
    """All kinds, the preferred first."""
    table = json.loads(_libraries.find("device_kinds.json").read_text())
    lists = ("device_files", "profiles")
    return tuple(DeviceKind(**row | {name: tuple(row[name]) for name in lists}) for row in table)


def find(name: str) -> DeviceKind | None:
    """Returns the kind whose `torch.device.type` is ``name``; None for the CPU and others."""
    return next((kind for kind in kinds() if kind.name == name), None)


def may_exist(kind: DeviceKind) -> bool:
    """Whether this machine may have a real device of the kind, judged by its files."""
    if kind.system and kind.system != platform.system():
        return False
    return not kind.device_files or any(glob.glob(pattern) for pattern in kind.device_files)


def known_to_torch() -> tuple[DeviceKind, ...]:
    """The kinds that the torch of this process accepts in a device string. Imports torch."""
    import torch

    renamed = torch._C._get_privateuse1_backend_name()
    return tuple(kind for kind in kinds() if not kind.out_of_tree or kind.name == renamed)


def kind_in(spec: str) -> str:
    """The kind in a spec of virtual devices: "cuda" for "cuda:4,memory=16GiB"; also "none"."""
    return spec.partition(",")[0].partition(":")[0].strip()


def usage() -> str:
    """The devices that a user can ask for, as text for messages: "cuda:N, mps, xpu:N or none"."""
    words = [f"{kind.name}:N" if kind.several else kind.name for kind in kinds()]
    return ", ".join(words) + " or none"


def names_devices(text: str) -> bool:
    """Whether `text` is "none", a kind, or a kind and the number of devices ("cuda:4")."""
    name, colon, number = text.partition(":")
    if name == "none":
        return not colon
    kind = find(name)
    if kind is None or (colon and not number.isdecimal()):
        return False
    return kind.several or not colon or int(number) == 1
