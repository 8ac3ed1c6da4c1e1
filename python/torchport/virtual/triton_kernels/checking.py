"""What `torchport run --check-kernels` finds in Triton's kernels: accesses behind the end of tensors, and races
between the programs of a launch.

Programs run one after another here, and at any time on a GPU. So two of them race if one stores where
another loads or stores, unless both are atomic, both store the same value, or an atomic operation orders
them: one after which a program runs that used the same word by one, too.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from torchport.virtual.triton_kernels import errors

Array = Any
CHECKED = bool(os.environ.get("TORCHPORT_CHECK_KERNELS"))
# As Cause of src/cuda/check/findings.h.
_OUT_OF_BOUNDS, _RACE = 0, 4


def _library() -> Any:
    from torchport.virtual.kernels import extensions

    return ctypes.CDLL(str(extensions.toolkit() / "lib64" / "libtorchport_cuda.so"))


def report(cause: int, key: str, text: str) -> None:
    """Counts a finding, and prints it if the key is new."""
    _library().torchport_cuda_add_finding(cause, key.encode(), text.encode())


@dataclass
class _Past:
    """The programs that used each element last, when, and at which line."""

    program: Array
    time: Array
    site: Array

    @classmethod
    def of(cls, count: int) -> _Past:
        return cls(
            np.full(count, -1, np.int32), np.zeros(count, np.int64), np.zeros(count, np.int32)
        )

    def refine(self, times: int) -> None:
        self.program = np.repeat(self.program, times)
        self.time = np.repeat(self.time, times)
        self.site = np.repeat(self.site, times)

    def note(self, at: Array, program: int, time: int, site: int) -> None:
        self.program[at], self.time[at], self.site[at] = program, time, site

    def others(self, at: Array, program: int, known: int) -> Array:
        """Which elements another program used that nothing orders before this one."""
        held = self.program[at]
        return (held >= 0) & (held != program) & (self.time[at] >= known)


class _Block:
    """A storage, in elements of the smallest size that was used."""

    def __init__(self, start: int, end: int, size: int) -> None:
        self.start, self.end, self.size = start, end, size
        count = -(-(end - start) // size)
        self.write, self.first_read, self.last_read = (_Past.of(count) for _ in range(3))
        self.is_atomic = np.zeros(count, bool)  # the last write
        self.released = np.zeros(count, np.int64)

    def elements(self, addresses: Array, size: int) -> Array:
        if size < self.size:
            times = self.size // size
            for past in (self.write, self.first_read, self.last_read):
                past.refine(times)
            self.is_atomic = np.repeat(self.is_atomic, times)
            self.released = np.repeat(self.released, times)
            self.size = size
        return (addresses - np.uint64(self.start)).astype(np.int64) // self.size


@dataclass
class _Stored:
    """Elements that two programs store: a race if they store different values."""

    addresses: Array
    before: Array
    where: str
    other: int  # a site
    programs: tuple[int, int]
    kind: Any


@dataclass
class Launch:
    """The accesses of one launch of a kernel."""

    name: str
    load: Callable[[Array, Any], Array]  # the values at addresses, in a type of NumPy
    program: int = 0
    place: tuple[int, ...] = (0, 0, 0)
    sizes: tuple[int, ...] = (1, 1, 1)
    _time: int = 1
    _known: int = 0  # what was before is over for this program
    _blocks: dict[int, _Block] = field(default_factory=dict)
    _sites: list[str] = field(default_factory=list)
    _stored: list[_Stored] = field(default_factory=list)

    def next_program(self, number: int, place: tuple[int, ...]) -> None:
        self._settle()
        self.program, self.place = number, place
        self._time += 1
        self._known = 0

    def end(self) -> None:
        self._settle()

    def access(self, addresses: Array, size: int, writes: bool, atomic: bool, blocks: Any) -> None:
        """Elements that lie in blocks of memory are going to be used; `blocks` finds (start, end)."""
        self._settle()
        while addresses.size:
            start, end = blocks(int(addresses[0]))
            inside = (addresses >= np.uint64(start)) & (addresses < np.uint64(end))
            self._in_block(start, end, addresses[inside], size, writes, atomic)
            addresses = addresses[~inside]

    def _site(self) -> int:
        where = errors.place()
        if where not in self._sites:
            self._sites.append(where)
        return self._sites.index(where)

    def _in_block(
        self, start: int, end: int, addresses: Array, size: int, writes: bool, atomic: bool
    ) -> None:
        block = self._blocks.get(start)
        if block is None:
            block = self._blocks[start] = _Block(start, end, size)
        at = block.elements(addresses, size)
        site = self._site()
        racing = block.write.others(at, self.program, self._known)
        racing &= ~(atomic & block.is_atomic[at])
        if racing.any():
            plain = ~block.is_atomic[at] & racing
            if writes and not atomic and plain.any():
                kind = np.dtype(f"u{size}")
                first = int(np.argmax(plain))
                self._stored.append(
                    _Stored(
                        addresses[plain], self.load(addresses[plain], kind), errors.place(),
                        int(block.write.site[at[first]]),
                        (self.program, int(block.write.program[at[first]])), kind,
                    )
                )  # fmt: skip
            else:
                self._race(block.write, at, racing, addresses, writes, "stored to")
        if writes:
            for past in (block.first_read, block.last_read):
                read = past.others(at, self.program, self._known)
                if read.any():
                    self._race(past, at, read, addresses, writes, "loaded")
                    break
            block.write.note(at, self.program, self._time, site)
            block.is_atomic[at] = atomic
            block.first_read.program[at] = block.last_read.program[at] = -1
        else:
            fresh = at[~block.first_read.others(at, self.program, self._known)]
            block.first_read.note(fresh, self.program, self._time, site)
            block.last_read.note(at, self.program, self._time, site)
        if atomic:
            self._known = max(self._known, int(block.released[at].max()))
            self._time += 1
            block.released[at] = self._time

    def _settle(self) -> None:
        stored, self._stored = self._stored, []
        for one in stored:
            differs = self.load(one.addresses, one.kind) != one.before
            if differs.any():
                address = int(one.addresses[int(np.argmax(differs))])
                self._say(one.where, one.other, one.programs, address, "stores to", "stored to")

    def _race(
        self, past: _Past, at: Array, racing: Array, addresses: Array, writes: bool, did: str
    ) -> None:
        first = int(np.argmax(racing))
        programs = (self.program, int(past.program[at[first]]))
        does = "stores to" if writes else "loads"
        self._say(
            errors.place(), int(past.site[at[first]]), programs, int(addresses[first]), does, did
        )

    def _say(
        self, where: str, other: int, programs: tuple[int, int], address: int, does: str, did: str
    ) -> None:
        there = self._sites[other]
        report(
            _RACE,
            " ".join(sorted((where, there))),
            f"{where}: program {self._place_of(programs[0])} of {self.name} {does} {words(address)}, which "
            f"program {self._place_of(programs[1])} {did} at {there}; programs of a launch are not ordered",
        )

    def _place_of(self, number: int) -> tuple[int, int, int]:
        x, y, _ = self.sizes
        return number % x, number // x % y, number // (x * y)

    def beyond(self, address: int, size: int, writes: bool) -> None:
        where = errors.place()
        report(
            _OUT_OF_BOUNDS,
            where,
            f"{where}: program {self.place} of {self.name} {'stores' if writes else 'loads'} {size} bytes: "
            f"{words(address)}",
        )


def words(address: int) -> str:
    """The element of the tensor that has an address, or ends before it."""
    import gc

    import torch

    nearest, name = -1, ""
    for one in gc.get_objects():
        if not issubclass(type(one), torch.Tensor) or one.layout is not torch.strided:
            continue
        if not one.is_cuda or one.untyped_storage().nbytes() == 0:
            continue
        start = one.data_ptr()
        end = start + one.numel() * one.element_size()
        if start > address or start < nearest:
            continue
        shape = f"{str(one.dtype).removeprefix('torch.')}{list(one.shape)}"
        if start == nearest and not name.endswith(shape):
            continue
        nearest = start
        if address < end:
            name = f"element {(address - start) // one.element_size()} of tensor {shape}"
        else:
            name = f"{address - end} bytes behind the end of tensor {shape}"
    return name or f"address {address:#x}"


_running: list[Launch] = []


def begin(launch: Launch) -> None:
    _running.append(launch)
    _library().torchport_cuda_count_launch()


def running() -> Launch | None:
    return _running[-1] if _running else None


def done() -> None:
    _running.pop().end()
