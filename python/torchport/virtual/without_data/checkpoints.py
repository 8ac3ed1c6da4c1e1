"""Weights that go to a device without data are not read from their files.

A file of weights is mapped instead of read: a page of it is read when somebody asks for a value
there, and a copy to a device without data asks for none. Tensors that are as small as those whose
values the devices keep are read at once.
"""

from __future__ import annotations

import bisect
import functools
import os
import threading
import zipfile
from collections import Counter
from contextlib import nullcontext, suppress
from mmap import MAP_PRIVATE
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from torchport.virtual.without_data import distributed_checkpoints

_here = threading.local()


class Place(NamedTuple):
    path: str
    offset: int


class Mappings:
    """The files that this process has mapped, as they are now."""

    def __init__(self) -> None:
        self.begins: list[int] = []
        self.rest: list[tuple[int, int, int, str]] = []  # end, offset, inode, path
        # proc(5): address-address permissions offset device inode path
        for line in Path("/proc/self/maps").read_bytes().splitlines():
            addresses, _, offset, _, inode, *path = line.split(None, 5)
            if not path or not path[0].startswith(b"/"):
                continue
            begin, end = (int(one, 16) for one in addresses.split(b"-"))
            self.begins.append(begin)
            self.rest.append((end, int(offset, 16), int(inode), os.fsdecode(path[0])))

    def place(self, address: int, size: int) -> Place | None:
        """Where so many bytes are in a file, if they are and its name is still that of the file."""
        index = bisect.bisect_right(self.begins, address) - 1
        if index < 0:
            return None
        end, offset, inode, path = self.rest[index]
        with suppress(OSError):
            if address + size <= end and Path(path).stat().st_ino == inode:
                return Place(path, address - self.begins[index] + offset)
        return None

    def holds(self, path: str) -> bool:
        return any(other == path for *_, other in self.rest)


def install(torch: ModuleType, kept: int) -> None:
    """Called after torch is imported; the devices keep tensors of so many bytes."""
    _map_checkpoints(torch.serialization, torch, kept)
    _share_with_modules(torch, kept)


def _file_behind(given: Any) -> str | None:
    """The path of a file of torch.save() whose values can be mapped."""
    path = None
    if isinstance(given, (str, os.PathLike)):
        path = os.fspath(given)
    else:
        # An open file is its path; what else can be read (BytesIO) has its values in memory.
        with suppress(Exception):
            if given.tell() == 0:
                path = os.path.realpath(f"/proc/self/fd/{given.fileno()}")
    if not isinstance(path, str):
        return None
    with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
        if all(one.compress_type == zipfile.ZIP_STORED for one in archive.infolist()):
            return path
    return None


def _map_checkpoints(serialization: Any, torch: ModuleType, kept: int) -> None:
    """torch.load() maps what is larger than what devices keep, and reads the rest."""
    load, save = serialization.load, serialization.save
    restore_location = serialization._get_restore_location

    @functools.wraps(load)
    def mapping(f: Any, *args: Any, **named: Any) -> Any:
        part = distributed_checkpoints.part_behind(f)
        if part is not None and not args and named.keys() == {"map_location", "weights_only"}:
            _here.maps = True
            try:
                return distributed_checkpoints.load(
                    serialization, torch, f, part, named["map_location"]
                )
            finally:
                _here.maps = False
        path = None if named.get("mmap") else _file_behind(f)
        if path is None:
            return load(f, *args, **named)
        # What the program writes to is its own, whatever it has chosen for mmap=True.
        private = serialization.get_default_mmap_options() == MAP_PRIVATE
        options = nullcontext() if private else serialization.set_default_mmap_options(MAP_PRIVATE)
        _here.maps = True
        try:
            with options:
                return load(path, *args, **{**named, "mmap": True})
        finally:
            _here.maps = False

    def restoring(map_location: Any) -> Any:
        restore = restore_location(map_location)
        if not getattr(_here, "maps", False):
            return restore

        def copy_small(storage: Any, location: Any) -> Any:
            return restore(storage.clone() if storage.nbytes() <= kept else storage, location)

        return copy_small

    @functools.wraps(save)
    def saving(obj: Any, f: Any, *args: Any, **named: Any) -> Any:
        # A tensor keeps the pages of the old file if that is removed, and not if it is written to.
        if isinstance(f, (str, os.PathLike)):
            path = os.path.realpath(f)
            if isinstance(path, str) and Mappings().holds(path):
                Path(path).unlink(missing_ok=True)
        return save(obj, f, *args, **named)

    serialization._get_restore_location = restoring
    serialization.load = vars(torch)["load"] = mapping
    serialization.save = vars(torch)["save"] = saving


def _share_with_modules(torch: ModuleType, kept: int) -> None:
    """Module.load_state_dict() on the host takes the pages of a file, instead of a copy of them."""
    from torch.overrides import TorchFunctionMode

    copy, load = torch.Tensor.copy_, torch.nn.Module.load_state_dict
    plain = (torch.Tensor, torch.nn.Parameter)

    def is_whole(tensor: Any) -> bool:
        """Whether it is all of a large piece of memory of the host."""
        return (
            type(tensor) in plain
            and tensor.device.type == "cpu"
            and tensor.is_contiguous()
            and tensor.nbytes == tensor.untyped_storage().nbytes() > kept
        )

    class Sharing(TorchFunctionMode):
        def __init__(self) -> None:
            super().__init__()
            self.mappings: Mappings | None = None
            self.used: Counter[Place] = Counter()
            self.again: dict[tuple[str, int], Any] = {}

        def pages(self, given: Any) -> Any:
            """A storage with the bytes that a tensor has of a file, of which nobody else has these
            pages; none if they are of no file."""
            self.mappings = self.mappings or Mappings()
            place = self.mappings.place(given.data_ptr(), given.nbytes)
            if place is None:
                return None
            key = (place.path, self.used[place])
            self.used[place] += 1
            if key not in self.again:
                size = Path(place.path).stat().st_size
                self.again[key] = torch.UntypedStorage.from_file(place.path, False, size)
            return self.again[key][place.offset : place.offset + given.nbytes]

        def takes(self, own: Any, given: Any) -> bool:
            if not (is_whole(own) and type(given) in plain and given.device.type == "cpu"):
                return False
            alike = own.dtype == given.dtype and own.shape == given.shape and given.is_contiguous()
            pages = self.pages(given) if alike else None
            if pages is not None:
                own.data = torch.empty(0, dtype=own.dtype).set_(pages, 0, own.shape, own.stride())
            return pages is not None

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func is copy and not kwargs and len(args) == 2 and self.takes(*args):
                return args[0]
            return func(*args, **(kwargs or {}))

    @functools.wraps(load)
    def sharing(self: Any, *args: Any, **named: Any) -> Any:
        with Sharing():
            return load(self, *args, **named)

    torch.nn.Module.load_state_dict = sharing
