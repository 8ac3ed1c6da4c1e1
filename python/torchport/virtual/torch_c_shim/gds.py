"""torch.cuda.gds: files that are read into devices, and written from them.

cuFile takes the way through host memory where there is no GPUDirect Storage, its "compatibility
mode"; so do virtual devices.
"""

from __future__ import annotations

import ctypes
import fcntl
import itertools
import os
from types import ModuleType
from typing import Any

KINDS = ("cuda",)


def bindings(torch: ModuleType) -> dict[str, Any]:
    files: dict[int, int] = {}  # by handle, descriptors of our own
    handles = itertools.count(1)

    def register_handle(descriptor: int) -> int:
        # The file was opened with O_DIRECT, which takes aligned memory only.
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL) & ~os.O_DIRECT
        handle = next(handles)
        files[handle] = os.open(f"/proc/self/fd/{descriptor}", flags)
        return handle

    def deregister_handle(handle: int) -> None:
        os.close(files.pop(handle))

    def load_storage(handle: int, storage: Any, offset: int) -> None:
        host = torch.UntypedStorage(storage.nbytes())
        view, count = _bytes_of(host), 0
        while part := os.preadv(files[handle], [view[count:]], offset + count):
            count += part
        # What lies behind the end of the file keeps its bytes.
        target, source = (
            torch.empty(0, dtype=torch.uint8, device=one.device).set_(one)
            for one in (_untyped(storage), host)
        )
        target[:count].copy_(source[:count])

    def save_storage(handle: int, storage: Any, offset: int) -> None:
        host = _untyped(storage).cpu()
        view, count = _bytes_of(host), 0
        while count < len(view):
            count += os.pwrite(files[handle], view[count:], offset + count)

    return {
        "_gds_register_buffer": lambda storage: None,
        "_gds_deregister_buffer": lambda storage: None,
        "_gds_register_handle": register_handle,
        "_gds_deregister_handle": deregister_handle,
        "_gds_load_storage": load_storage,
        "_gds_save_storage": save_storage,
    }


def _bytes_of(host: Any) -> memoryview:
    """The bytes of a storage in host memory, which has to live as long."""
    count = host.nbytes()
    return memoryview((ctypes.c_ubyte * count).from_address(host.data_ptr())).cast("B")


def _untyped(storage: Any) -> Any:
    return getattr(storage, "_untyped_storage", storage)
