"""The moments of `import torch` at which virtual devices are put in place.

All that depends on the version or the build of torch stands in this file.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from pathlib import Path
from types import ModuleType

from torchport.virtual import _watching

SUPPORTED = ("2.13.0",)


class UnsupportedTorch(ImportError):
    """This torch is not one that virtual devices were built and tested for."""


def _library() -> Path:
    name = "libtorchport_virtual.so"
    if chosen := os.environ.get("TORCHPORT_VIRTUAL_LIBRARY"):  # of another build
        return Path(chosen)
    for folder in (Path(sys.prefix, "lib", "torchport"), Path(__file__).parents[1] / "lib"):
        if (folder / name).is_file():
            return folder / name
    raise ImportError(
        f"torchport: {name} is missing from {Path(sys.prefix, 'lib', 'torchport')}; install torchport "
        "again in an environment that has torch"
    )


def _version_of(root: Path) -> str:
    """The version of a torch that is not imported yet."""
    found = re.search(r"__version__ = '([^']*)'", (root / "version.py").read_text())
    return found[1] if found else "unknown"


def hidden() -> bool:
    return os.environ.get("TORCHPORT_VIRTUAL") == "none"


def before_torch(module: ModuleType) -> None:
    """The library has to be there before torch asks for its hooks."""
    if hidden():
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        if not _watching.wanted():
            return
    root = Path(module.__spec__.origin).parent  # type: ignore[union-attr, arg-type]
    version = _version_of(root)
    if version.split("+")[0] not in SUPPORTED:
        raise UnsupportedTorch(
            f"torchport: virtual devices support torch {', '.join(SUPPORTED)}; this is {version}. "
            "Run without `torchport run`, or install a supported torch."
        )
    # By their full names, so that ours finds those of this torch and of no other.
    for name in ("libtorch_global_deps.so", "libc10.so", "libtorch_cpu.so"):
        ctypes.CDLL(str(root / "lib" / name), mode=ctypes.RTLD_GLOBAL)
    ctypes.CDLL(str(_library()), mode=ctypes.RTLD_GLOBAL)


def before_cuda(torch: ModuleType) -> None:
    """torch.cuda takes what it finds in torch._C when it is first imported."""
    bindings = torch._C
    if hidden():
        for name in [name for name in vars(bindings) if name.startswith("_cuda_")]:
            delattr(bindings, name)
        return
    from torchport.virtual import face

    face.install(torch)


def after_torch(torch: ModuleType) -> None:
    if not hidden():
        from torchport.virtual import face

        face.finish(torch)
    if _watching.wanted():
        _watching.start(torch)


def after_cpp_extension(extension: ModuleType) -> None:
    if not hidden():
        from torchport.virtual import kernels

        kernels.install(extension)
