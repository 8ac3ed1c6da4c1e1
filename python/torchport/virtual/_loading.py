"""The moments of `import torch` at which virtual devices are put in place."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from torchport import _libraries
from torchport.virtual import _hiding, _watching
from torchport.virtual._builds import Torch


def _library() -> Path:
    if chosen := os.environ.get("TORCHPORT_VIRTUAL_LIBRARY"):  # of another build
        return Path(chosen)
    return _libraries.find("libtorchport_virtual.so")


def hidden() -> bool:
    return os.environ.get("TORCHPORT_VIRTUAL") == "none"


def before_torch(module: ModuleType) -> None:
    """The library has to be there before torch asks for its hooks."""
    torch = Torch.at(Path(module.__spec__.origin).parent)  # type: ignore[union-attr, arg-type]
    if hidden():
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if hidden() and not _watching.wanted():
        # A build with CUDA needs other hooks to answer all as one without does. Of a version that
        # they are not for, the variable hides the devices, too.
        if torch.has_cuda:
            with suppress(ImportError):
                _load(torch)
        return
    _load(torch)


def _load(torch: Torch) -> None:
    torch.check()
    library = _library()
    torch.check_library(library)
    # By their full names, so that ours finds those of this torch and of no other.
    for path in (*torch.libraries, library):
        ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)


def before_cuda(torch: ModuleType) -> None:
    """torch.cuda takes what it finds in torch._C when it is first imported."""
    _hiding.hide_cuda(torch)
    if not hidden():
        from torchport.virtual import torch_c_shim

        torch_c_shim.install(torch)


def after_torch(torch: ModuleType) -> None:
    torch.version.cuda = None  # the shim says what a virtual one is
    if not hidden():
        from torchport.virtual import torch_c_shim

        torch_c_shim.finish(torch)
    if _watching.wanted():
        _watching.start(torch)


def after_cpp_extension(extension: ModuleType) -> None:
    if not hidden():
        from torchport.virtual import kernels

        kernels.install(extension)
