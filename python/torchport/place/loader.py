"""`torchport.loader`: copies batches to the device before the program needs them."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sized
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch.utils.data import DataLoader

from torchport import _device_kinds
from torchport._remake import Remaker, method_of
from torchport._walk import is_a, tensors_in
from torchport.place import policy
from torchport.place.moving import to

T = TypeVar("T")


class _Sent(NamedTuple):
    """A batch whose copy has begun; `arrived` is an event on the stream of the copies."""

    batch: Any
    arrived: torch.Event | None


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
            return _Sent(to(batch, self.device), None)
        # The allocator of pinned memory keeps it until the copy from it is done.
        pinned = _Pinned()(batch)
        with self.stream:
            moved = to(pinned, self.device)
            return _Sent(moved, self.stream.record_event())

    def receive(self, sent: _Sent) -> Any:
        """Returns the batch for use on the current stream. The stream waits for the copy; the host
        does not."""
        if sent.arrived is not None:
            current = torch.accelerator.current_stream(self.device)
            current.wait_event(sent.arrived)
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
        batches = iter(self.batches)
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
    `to`, in order. If ``device`` is the CPU, they are passed through. Leaving the loop ends the
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
