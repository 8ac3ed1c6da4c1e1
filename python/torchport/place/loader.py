"""`torchport.loader`: copies batches to the device before the program needs them."""

from __future__ import annotations

import queue
import re
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch.utils.data import DataLoader, Dataset

from torchport import _device_kinds
from torchport._remake import Remaker, method_of
from torchport._walk import is_a, tensors_in
from torchport.place import policy
from torchport.place.moving import to

T = TypeVar("T")

_MOST_DATASETS = 1000  # a dataset may be made of many, and is looked at for one tensor
# What torch says of data on a device, and what to do. The device follows the words.
_REFUSED = (
    (
        re.compile(r"Cannot re-initialize \w+ in forked subprocess"),
        "the dataset uses an accelerator in a worker of the DataLoader, and a forked worker cannot. If "
        "the data is on the device already, there is nothing to load ahead: set num_workers=0. "
        "Otherwise return CPU tensors from the dataset; torchport.loader copies them",
    ),
    (
        re.compile(r"cannot pin '.*' only dense CPU tensors can be pinned"),
        "the dataset makes tensors that are on a device already, and only CPU tensors can be pinned: "
        "set pin_memory=False in the DataLoader; torchport.loader pins what it copies",
    ),
)


class _Sent(NamedTuple):
    """A batch whose copy has begun. ``arrived`` are events of the streams that made it: that of the
    copies, and that of the dataset if it makes tensors on the device."""

    batch: Any
    arrived: tuple[torch.Event, ...] = ()


class _Ended(NamedTuple):
    """The end of the batches. ``error`` is an error of the dataset, or None."""

    error: Exception | None


class _Pinned(Remaker):
    """Rebuilds a batch with its CPU tensors in pinned memory. torch's own function was rejected: it
    looks into other objects, it recurses, and it refuses tensors that are on a device already."""

    def leaf(self, value: Any) -> Any:
        if is_a(value, torch.Tensor):
            pinnable = value.device.type == "cpu" and value.layout is torch.strided
            return value.pin_memory() if pinnable else value
        pin = method_of(value, "pin_memory")
        return pin() if pin else value


class _Copies:
    """Copies batches to one device on a separate stream. Each iteration of a loader makes one."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        kind = _device_kinds.find(device.type)
        self.stream = torch.Stream(device=device) if kind and kind.has_streams else None

    def send(self, batch: Any) -> _Sent:
        if self.stream is None:
            return _Sent(to(batch, self.device))
        held = {tensor.device for tensor in tensors_in(batch)}
        made = torch.accelerator.current_stream(self.device) if self.device in held else None
        if held == {self.device} and made is not None:
            return _Sent(batch, (made.record_event(),))
        # The allocator of pinned memory keeps it until the copy from it is done.
        pinned = _Pinned()(batch)
        with self.stream:
            moved = to(pinned, self.device)
            arrived = self.stream.record_event()
        return _Sent(moved, (arrived,) if made is None else (arrived, made.record_event()))

    def receive(self, sent: _Sent) -> Any:
        """Returns the batch for use on the current stream. The stream waits for the copy; the host
        does not."""
        if sent.arrived:
            current = torch.accelerator.current_stream(self.device)
            for event in sent.arrived:
                current.wait_event(event)
            for tensor in tensors_in(sent.batch):
                if tensor.device.type == self.device.type and tensor.layout == torch.strided:
                    # The memory belongs to the stream of the copies. After the program drops the
                    # tensor, the next copy must wait for the kernels of the current stream.
                    tensor.record_stream(current)
        return sent.batch


class _Ahead:
    """Fetches batches in the calling thread, `depth` batches before they are needed."""

    def __init__(self, batches: Iterator[Any], copies: _Copies, depth: int) -> None:
        self._batches, self._copies, self._depth = batches, copies, depth
        self._sent: deque[_Sent] = deque()
        self._ended: _Ended | None = None

    def take(self) -> _Sent | _Ended:
        while self._ended is None and len(self._sent) <= self._depth:
            try:
                self._sent.append(self._copies.send(next(self._batches)))
            except StopIteration:
                self._ended = _Ended(None)
            except Exception as error:  # raised after the batches before it
                self._ended = _Ended(error)
        return self._sent.popleft() if self._sent else self._ended or _Ended(None)

    def close(self) -> None:
        self._sent.clear()


class _Threaded:
    """Fetches and copies batches in a thread, at most `depth` batches before they are needed."""

    def __init__(self, batches: Iterator[Any], copies: _Copies, depth: int) -> None:
        self._ready: queue.Queue[_Sent | _Ended] = queue.Queue(depth)
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._work, args=(batches, copies), name="torchport.loader", daemon=True
        )
        self._thread.start()

    def take(self) -> _Sent | _Ended:
        return self._ready.get()

    def close(self) -> None:
        self._stop.set()
        self._thread.join(timeout=10)  # the thread may still fetch a batch

    def _work(self, batches: Iterator[Any], copies: _Copies) -> None:
        try:
            for batch in batches:
                if not self._put(copies.send(batch)):
                    return
            self._put(_Ended(None))
        except Exception as error:
            self._put(_Ended(error))

    def _put(self, item: _Sent | _Ended) -> bool:
        while not self._stop.is_set():
            try:
                self._ready.put(item, timeout=0.05)
                return True
            except queue.Full:
                continue
        return False


def _is_on_device(dataset: Any) -> bool:
    """Whether a dataset holds tensors on an accelerator. torch's own classes of datasets are looked
    into, which the search for tensors does not open."""
    waiting, seen = [dataset], 0
    while waiting and seen < _MOST_DATASETS:
        one = waiting.pop()
        seen += 1
        if is_a(one, torch.Tensor):
            return bool(one.device.type != "cpu")
        parts = list(vars(one).values()) if is_a(one, Dataset) else [one]
        for part in parts:
            if is_a(part, Dataset) and part is not one:
                waiting.append(part)
            elif is_a(part, (list, tuple)) and part and is_a(part[0], Dataset):
                waiting.extend(part)
            elif any(t.device.type not in ("cpu", "meta") for t in tensors_in(part)):
                return True
    return False


@contextmanager
def _unpinned(batches: Iterable[Any]) -> Iterator[None]:
    """Within the block, a DataLoader over data on a device does not pin: torch refuses to."""
    pins = is_a(batches, DataLoader) and batches.pin_memory  # type: ignore[attr-defined]
    if not pins or not _is_on_device(batches.dataset):  # type: ignore[attr-defined]
        yield
        return
    batches.pin_memory = False  # type: ignore[attr-defined]
    try:
        yield
    finally:
        batches.pin_memory = True  # type: ignore[attr-defined]


def _explained(batches: Iterable[T], device: torch.device) -> Iterator[T]:
    """The iterator of ``batches``. Errors of a DataLoader over data on a device are explained."""
    with _unpinned(batches):
        iterator = iter(batches)
    return _with_words(iterator, device) if is_a(batches, DataLoader) else iterator


def _with_words(batches: Iterator[T], device: torch.device) -> Iterator[T]:
    while True:
        try:
            batch = next(batches)
        except StopIteration:
            return
        except Exception as error:
            words = next((told for why, told in _REFUSED if why.search(str(error))), "")
            if not words:
                raise
            raise RuntimeError(f"torchport: {words} to {device}") from error
        yield batch


class Loader(Generic[T]):
    """An iterable of a DataLoader's batches on a device; `torchport.loader` makes it.

    It can be iterated repeatedly, also several times at once if the DataLoader can. It has the
    attributes of the DataLoader (`sampler`, `dataset`, `batch_size`).

    Example:
        >>> samples = torch.utils.data.DataLoader(torch.ones(8, 3), batch_size=4)
        >>> batches = torchport.loader(samples, "cpu")
        >>> len(batches), batches.batch_size
        (2, 4)
        >>> [tuple(batch.shape) for batch in batches]
        [(4, 3), (4, 3)]
    """

    def __init__(
        self, batches: Iterable[T], device: torch.device, depth: int, thread: bool
    ) -> None:
        self.batches, self.device, self.depth, self.thread = batches, device, depth, thread

    def __iter__(self) -> Iterator[T]:
        # This must not run in the thread: it forks workers and draws seeds as a plain loop does.
        batches = _explained(self.batches, self.device)
        copies = _Copies(self.device)
        if copies.stream is None and not self.thread:
            return (to(batch, self.device) for batch in batches)
        return self._prefetched(batches, copies)

    def _prefetched(self, batches: Iterator[T], copies: _Copies) -> Iterator[T]:
        source = (_Threaded if self.thread else _Ahead)(batches, copies, self.depth)
        try:
            while isinstance(taken := source.take(), _Sent):
                yield copies.receive(taken)
            if taken.error is not None:
                raise taken.error
        finally:  # runs also when the program leaves the loop, because the generator is closed then
            source.close()

    def __len__(self) -> int:
        if not isinstance(self.batches, Sized):
            raise TypeError(f"torchport: {type(self.batches).__name__} has no length")
        return len(self.batches)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "batches":
            raise AttributeError(name)
        return getattr(self.batches, name)


def loader(
    dataloader: Iterable[T],
    device: torch.device | str | None = None,
    depth: int = 2,
    *,
    thread: bool | None = None,
) -> Loader[T]:
    """Copies the batches of ``dataloader`` to ``device`` before they are used.

    Batches are pinned and copied on a separate stream while the program computes. Work of the
    current stream on a batch waits for its copy; the host does not wait. Batches are moved as by
    `to`, in order. If ``device`` is the CPU, they are passed through. Batches that are on the device
    already are passed through, too; use them with ``num_workers=0``, because a forked worker cannot
    use a device. Leaving the loop ends the
    thread and the copies. Errors of the dataset are raised with their own traceback, after the
    batches before them.

    Args:
        dataloader: A DataLoader, or any iterable of batches.
        device: The target, as in `to`.
        depth: The number of batches that are copied ahead.
        thread: Whether a thread fetches and pins the batches. The default is true if the
            DataLoader has workers. Without a thread the dataset is read in the calling thread, so
            that its random numbers are those of a plain loop.

    Returns:
        An iterable of moved batches, which can be iterated repeatedly.

    Raises:
        ValueError: ``depth`` is below 1, or ``device`` names something that is not a device.
        RuntimeError: The device does not exist.

    Example:
        >>> for batch in torchport.loader([torch.ones(2), torch.zeros(2)], "cpu"):
        ...     print(batch.sum().item())
        2.0
        0.0
    """
    if depth < 1:
        raise ValueError(f"torchport: loader() got depth={depth}; depth must be at least 1")
    place = device if isinstance(device, torch.device) else policy.device(device)
    if thread is None:
        workers = dataloader.num_workers if isinstance(dataloader, DataLoader) else 0
        thread = place.type != "cpu" and workers > 0
    return Loader(dataloader, place, depth, thread)
