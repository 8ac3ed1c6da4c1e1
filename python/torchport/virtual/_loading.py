"""Sets up virtual devices at certain moments of `import torch`."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from torchport import _libraries
from torchport._startup import VARIABLE
from torchport.virtual import _hiding, _watching
from torchport.virtual._builds import Torch


def _library() -> Path:
    if chosen := os.environ.get("TORCHPORT_VIRTUAL_LIBRARY"):  # the library of another build
        return Path(chosen)
    return _libraries.find("libtorchport_virtual.so")


def hidden() -> bool:
    return os.environ.get(VARIABLE) == "none"


def before_torch(module: ModuleType) -> None:
    """Loads the library of the virtual devices, before torch asks for its hooks."""
    torch = Torch.at(Path(module.__spec__.origin).parent)  # type: ignore[union-attr, arg-type]
    if hidden():
        _hiding.hide_devices()
    if hidden() and not _watching.wanted():
        # A build with CUDA needs the library's hooks to answer like a build without CUDA. If they
        # do not support this version of torch, the variable alone hides the devices.
        if torch.has_cuda:
            with suppress(ImportError):
                _load(torch)
        return
    _load(torch)


def _load(torch: Torch) -> None:
    torch.check()
    library = _library()
    torch.check_library(library)
    # Full paths, so that the library is linked to this torch and to no other.
    for path in (*torch.libraries, library):
        ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)


def before_cuda(torch: ModuleType) -> None:
    """Adds the names to torch._C; torch.cuda copies them when it is first imported."""
    _hiding.hide_cuda(torch)
    if not hidden():
        from torchport.virtual import torch_c_shim

        torch_c_shim.install(torch)


def after_torch(torch: ModuleType) -> None:
    torch.version.cuda = None  # the shim sets the version of virtual CUDA devices
    if not hidden():
        from torchport.virtual import torch_c_shim

        torch_c_shim.finish(torch)
    if _watching.wanted():
        _watching.start(torch)


def after_cpp_extension(extension: ModuleType) -> None:
    if not hidden():
        from torchport.virtual import kernels

        kernels.install(extension)
