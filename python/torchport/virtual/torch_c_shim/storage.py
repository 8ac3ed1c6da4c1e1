"""Storages: the functions that torch's C++ has only in builds with the device.

To share a storage with another process, its bytes move into shared host memory that torch's own
manager controls, and the other process maps them. The shared bytes do not count as memory of the
receiver, as on a real device.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim._native import kind, ops


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {}


def finish(torch: ModuleType) -> None:
    storage_class = torch.UntypedStorage
    _creation(torch, storage_class)
    _resizing(torch, storage_class)
    if kind() == "cuda":  # torch shares storages between processes only for CUDA and the CPU
        _sharing(torch, storage_class)


def _tensor_over(torch: ModuleType, storage: Any) -> Any:
    """A tensor of all bytes of a storage, made without asking the device's allocator."""
    nothing = torch.empty(0, dtype=torch.uint8, device="cpu")
    return ops().adopt(nothing, storage.device.index, False).set_(storage)


def _is_virtual(device: Any) -> bool:
    return device is not None and str(device).startswith(kind())


def _creation(torch: ModuleType, storage_class: type) -> None:
    base_new = storage_class.__new__

    @functools.wraps(base_new)
    def new(cls: type, *args: Any, **kwargs: Any) -> Any:
        if not _is_virtual(kwargs.get("device")):
            return base_new(cls, *args, **kwargs)
        device = kwargs["device"]
        content = args[0] if args else kwargs.get("size", 0)
        if isinstance(content, int):
            made = torch.empty(content, dtype=torch.uint8, device=device)
        else:
            made = torch.tensor(list(content), dtype=torch.uint8, device=device)
        return made.untyped_storage()

    storage_class.__new__ = new  # type: ignore[method-assign, assignment]


def _resizing(torch: ModuleType, storage_class: Any) -> None:
    base_resize = storage_class.resize_

    @functools.wraps(base_resize)
    def resize_(self: Any, size: int) -> Any:
        if not _is_virtual(self.device):
            return base_resize(self, size)
        if not self.resizable():
            raise RuntimeError("Trying to resize storage that is not resizable")
        whole = _tensor_over(torch, self)
        try:
            base_resize(ops().twin(whole).untyped_storage(), size)
        except RuntimeError:
            # The host has no room for it. A device has none either, and says so in its words.
            impossible = 1 << 62
            torch.empty(size if size >= 0 else impossible, dtype=torch.uint8, device=self.device)
            raise
        ops().follow(whole)
        return self

    storage_class.resize_ = resize_


@contextlib.contextmanager
def _files_not_inherited() -> Iterator[None]:
    """Keeps what the process starts meanwhile, torch's manager of shared memory, from inheriting open files.

    It lives as long as any process maps the bytes. A child of multiprocessing has an open pipe whose end tells
    the parent that the child has ended, so that a manager with this pipe would keep the parent waiting.
    """
    changed = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the folder's own, which is closed by now
            if int(name) > 2 and os.get_inheritable(int(name)):
                os.set_inheritable(int(name), False)
                changed.append(int(name))
    try:
        yield
    finally:
        for file in changed:
            with contextlib.suppress(OSError):  # another thread has closed it
                os.set_inheritable(file, True)


def _sharing(torch: ModuleType, storage_class: Any) -> None:
    mapped = storage_class._new_shared_filename_cpu

    def share(self: Any) -> tuple[Any, ...]:
        if not _is_virtual(self.device):
            raise RuntimeError("_share_cuda_: only available on CUDA")
        index = self.device.index
        if self.nbytes() == 0:
            return (index, None, 0, 0, None, 0, b"", False)
        whole = _tensor_over(torch, self)
        twin = ops().twin(whole).untyped_storage()
        with _files_not_inherited():
            manager, handle, size = twin._share_filename_cpu_()
        ops().follow(whole)
        twin._shared_incref()  # keeps the bytes until the receiver has mapped them
        return (index, (manager, handle, size), size, 0, (manager, handle, size), 0, b"", False)

    @classmethod  # type: ignore[misc]
    def new_shared(
        cls: type, device: int, handle: tuple[Any, ...], size: int, offset: int, *_: Any
    ) -> Any:
        host = mapped(*handle)
        host._shared_decref()
        whole = torch.empty(0, dtype=torch.uint8).set_(host)
        return ops().adopt(whole, device, False).untyped_storage()

    @classmethod  # type: ignore[misc]
    def release(cls: type, handle: tuple[Any, ...] | None, offset: int) -> None:
        if handle is not None:
            mapped(*handle)._shared_decref()

    storage_class._share_cuda_ = share
    storage_class._new_shared_cuda = new_shared
    storage_class._release_ipc_counter_cuda = release
