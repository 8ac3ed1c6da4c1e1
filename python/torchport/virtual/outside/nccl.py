"""What NCCL takes of a device beside PyTorch's allocator, as an interval from NCCL's source.

The numbers are those of src/device.h, src/init.cc, src/channel.cc, src/graph/{connect,paths}.cc and
src/transport/{p2p,nvls,net,shm}.cc of NCCL 2.21.5 to 2.30.7. What decides most is the number of channels:
NCCL finds it by a search over links that no profile describes, so that it is an interval. docs/plan.md
says what the sums were compared with, and what set the memory of the kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

MIB = 1 << 20
# cuMemCreate() gives multiples of it, also for a table of some bytes; and CUDA_IPC_MIN.
PAGE = 2 * MIB
STEPS, SHARED_STEPS = 8, 16  # NCCL_STEPS, NCCL_SHARED_STEPS
HEADS = 4096  # sizeof(ncclSendMem), sizeof(ncclRecvMem)
NVLS_HEADS = 32  # NCCL_MAX_NVLS_ARITY
# Its kernels, once for a process: 492 MiB of one rank on an H100, less the 388 MiB that the rules below give
# for it, and half as much more or less.
KERNELS = (52 * MIB, 156 * MIB)


@dataclass(frozen=True)
class Machine:
    """The devices of a machine. ``nvlink`` is in 10^9 bytes a second, the sum of both directions."""

    capability: tuple[int, int]
    nvlink: float
    is_soldered: bool  # NVLink is on the board, and not a bridge that one can leave out
    devices: int


@dataclass(frozen=True)
class Communicator:
    """A group of ranks, and whether it has sent to single ranks and carried collectives."""

    ranks: int
    direct: bool
    collective: bool


@dataclass(frozen=True)
class Assumed:
    """What is assumed of a communicator: one end of the interval."""

    ranks: int
    local_ranks: int  # on this machine
    channels: int
    way: str  # "peer": buffers of the device; "host": of the host; "network": for GPUDirect
    for_peer: int  # channels from one rank to another one
    tree: bool
    nvls: int  # channels of NVLS, 0 without it
    with_ring: bool = True


class Settings:
    """NCCL's environment variables, with its defaults."""

    def __init__(self, environment: Mapping[str, str], version: tuple[int, int, int]) -> None:
        self.environment = environment
        self.version = version
        self.simple = self.number("BUFFSIZE", 4 * MIB)
        self.ll = self.number("LL_BUFFSIZE", 512 * 8 * STEPS * 16)
        self.ll128 = self.number("LL128_BUFFSIZE", 640 * 120 * STEPS * 8)
        self.limit = 64 if version >= (2, 25, 0) else 32  # MAXCHANNELS

    def number(self, name: str, default: int) -> int:
        text = self.environment.get(f"NCCL_{name}", "")
        return int(text) if text.lstrip("-").isdecimal() and int(text) >= 0 else default

    def clamped(self, channels: int) -> int:
        most = self.number("MAX_NCHANNELS", self.number("MAX_NRINGS", self.limit))
        most = max(1, min(most, self.number("MAX_CTAS", self.limit), self.limit))
        least = self.number("MIN_NCHANNELS", self.number("MIN_NRINGS", 1))
        least = min(max(least, self.number("MIN_CTAS", 1)), self.limit)
        return max(min(channels, most), least)

    def direct_channels(self, channels: int) -> int:
        most = self.number("MAX_P2P_NCHANNELS", self.limit)
        return _power_of_2(max(min(channels, most), self.number("MIN_P2P_NCHANNELS", 1)))

    @property
    def has_pages(self) -> tuple[bool, ...]:
        """Whether it allocates by cuMemCreate(): yes, no, or either."""
        text = self.environment.get("NCCL_CUMEM_ENABLE", "")
        if text in {"0", "1"}:
            return (text == "1",)
        return (True,) if self.version >= (2, 22, 0) else (False, True)

    def connects_late(self, has_pages: bool) -> bool:
        """Whether an algorithm's buffers are made when it is first used."""
        return (
            has_pages
            and self.version >= (2, 22, 0)
            and self.environment.get("NCCL_RUNTIME_CONNECT", "1") != "0"
        )

    @property
    def forbids_peers(self) -> bool:
        level = self.environment.get("NCCL_P2P_LEVEL", "").upper()
        return self.environment.get("NCCL_P2P_DISABLE", "0") == "1" or level in {"LOC", "0"}


def _power_of_2(number: int) -> int:
    return 1 << max(number - 1, 0).bit_length()


def _pages(size: int) -> int:
    return -(-size // PAGE) * PAGE


def _connection(settings: Settings, way: str) -> int:
    """What a rank has for sending to one rank and receiving from one, on one channel."""
    if way == "host":
        return 0
    if way == "network":
        return 2 * _pages(settings.simple + settings.ll128)
    return _pages(HEADS + settings.simple + settings.ll + settings.ll128) + _pages(HEADS)


def _shared(settings: Settings, assumed: Assumed, chunk: int) -> int:
    """The buffers that all sends over a network share, or all receives."""
    return _pages(settings.direct_channels(assumed.channels) * SHARED_STEPS * chunk)


def _direct(settings: Settings, assumed: Assumed) -> int:
    """What sends to and receives from single ranks take."""
    per_peer = min(assumed.for_peer, settings.direct_channels(assumed.channels))
    local = assumed.local_ranks - 1
    size = 0
    if assumed.way != "host":
        size += local * per_peer * _connection(settings, "peer")
    if assumed.way == "network" and assumed.ranks > assumed.local_ranks:
        size += 2 * _shared(settings, assumed, settings.number("P2P_NET_CHUNKSIZE", 128 << 10))
    return size


def _size(settings: Settings, assumed: Assumed, one: Communicator, has_pages: bool) -> int:
    """The bytes of a communicator, without the kernels."""
    channels = max(assumed.channels, settings.direct_channels(assumed.channels))
    # Three tables of each channel, the communicator's own and that of its local ranks. Without cuMemCreate()
    # small tables share pages.
    size = PAGE * (3 * channels + 2) if has_pages else 2 * PAGE
    if assumed.nvls:
        chunk = settings.number("NVLS_CHUNKSIZE", 128 << 10)
        size += PAGE * (assumed.nvls + 1)
        size += _pages(assumed.nvls * 2 * chunk * STEPS * min(assumed.local_ranks, NVLS_HEADS))
    late = settings.connects_late(has_pages)
    if assumed.ranks > 1 and (one.collective or not late):
        connection = _connection(settings, assumed.way)
        size += assumed.channels * connection if assumed.with_ring else 0
        if assumed.tree and assumed.ranks > 2:
            # A tree also sends against the ring; over a network it has a parent and two children.
            size += assumed.channels * connection * (2 if assumed.way == "network" else 1)
    if not late and (assumed.ranks == 1 or assumed.tree):
        # The network's shared buffers are made at once. Whether they are of the device depends on the network.
        size += _shared(settings, assumed, settings.number("P2P_NVL_CHUNKSIZE", 512 << 10))
    if one.direct and assumed.ranks > 1:
        size += _direct(settings, assumed)
    return size


def _on_one_machine(
    settings: Settings, machine: Machine, ranks: int
) -> tuple[Assumed, Assumed, Assumed]:
    """The ends of the interval on one machine: by rings alone, by NVLS alone, and with everything."""
    if ranks == 1:
        alone = Assumed(1, 1, settings.clamped(settings.limit), "host", 1, False, 0)
        return alone, alone, alone
    links = int(machine.nvlink / (100 if machine.capability >= (10, 0) else 50))
    most = 32 if machine.nvlink >= 600 else 16 if links else 4
    least = 2
    if machine.is_soldered:
        least = 16 if machine.nvlink >= 900 and ranks > 4 else 8
    peers = not settings.forbids_peers
    nvls = 0
    if machine.nvlink >= 900 and settings.number("NVLS_ENABLE", 2):
        nvls = settings.number("NVLS_NCHANNELS", 16 if machine.capability < (10, 0) else 32)
    high = Assumed(
        ranks,
        ranks,
        settings.clamped(most),
        "peer" if peers else "host",
        _power_of_2(2 * max(links, 1)),
        True,
        nvls,
    )
    low = replace(
        high,
        channels=settings.clamped(least),
        way="peer" if peers and machine.is_soldered else "host",
        for_peer=high.for_peer if machine.is_soldered else 2,
        tree=False,
        nvls=0,
    )
    return low, replace(low, with_ring=not nvls, nvls=nvls), high


def _over_machines(
    settings: Settings, machine: Machine, ranks: int, local: int
) -> tuple[Assumed, Assumed]:
    """The ends of the interval over several machines. The network may use buffers of the host."""
    most = 32 if machine.nvlink >= 600 else 16
    high = Assumed(ranks, local, settings.clamped(most), "network", 32, True, 0)
    if machine.nvlink >= 900 and settings.number("NVLS_ENABLE", 2):
        high = replace(high, nvls=settings.number("NVLS_NCHANNELS", 32))
    return replace(
        high, channels=settings.clamped(2), way="host", for_peer=1, tree=False, nvls=0
    ), high


def interval(
    one: Communicator, machine: Machine, world: int, settings: Settings
) -> tuple[int, int]:
    """The least and the most bytes of a communicator, without the kernels."""
    ends: list[Assumed] = []
    local = max(min(one.ranks, machine.devices), 1)
    if one.ranks <= machine.devices:
        ends += _on_one_machine(settings, machine, one.ranks)
    if one.ranks > 1 and world > machine.devices:  # else all ranks are on this machine
        spread = 1 if one.ranks <= machine.devices else local
        ends += _over_machines(settings, machine, one.ranks, spread)
    sizes = [_size(settings, end, one, pages) for end in ends for pages in settings.has_pages]
    return min(sizes), max(sizes)


def total(
    communicators: Sequence[Communicator], machine: Machine, world: int, settings: Settings
) -> tuple[int, int]:
    """The least and the most bytes of all communicators of a device, with NCCL's kernels."""
    if not communicators:
        return 0, 0
    sums = [interval(one, machine, world, settings) for one in communicators]
    return (
        KERNELS[0] + sum(least for least, _ in sums),
        KERNELS[1] + sum(most for _, most in sums),
    )
