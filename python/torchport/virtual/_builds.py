"""Examines the installed torch before it is imported.

torch_releases.json lists the supported versions and their builds. A build with CUDA differs in two
ways: it has a library with the kernels of a real device, which is loaded before the library of the
virtual devices so that the latter replaces the kernels; and `torch._C` has names for CUDA, which
the shim replaces. src/runtime/virtual/core/build_facts.h is the part of the C++ runtime.
"""

from __future__ import annotations

import mmap
import re
from dataclasses import dataclass
from pathlib import Path

from torchport._releases import version_in, virtual_device_versions


class UnsupportedTorch(ImportError):
    """torchport cannot work with the installed torch: its virtual devices do not support that
    version, or its libraries were built for another torch. The message says what to install."""


@dataclass(frozen=True)
class Torch:
    """A torch that is not imported yet."""

    root: Path
    version: str  # the version with its build: "2.12.1+cu130"
    has_cuda: bool

    @classmethod
    def at(cls, root: Path) -> Torch:
        text = (root / "version.py").read_text()
        has_cuda = re.search(r"^cuda\b[^=]*= '", text, re.MULTILINE) is not None
        return cls(root, version_in(text) or "unknown", has_cuda)

    def check(self) -> None:
        supported = virtual_device_versions()
        if self.version.split("+")[0] not in supported:
            raise UnsupportedTorch(
                f"torchport: virtual devices support torch {' and '.join(supported)}; this is torch "
                f"{self.version}. Run without `torchport run`, or install a supported torch."
            )

    def check_library(self, library: Path) -> None:
        """Raises UnsupportedTorch if the library was built for another torch: it would crash."""
        built_for = _built_for(library)
        if built_for != self.version:
            raise UnsupportedTorch(
                f"torchport: {library} was built for torch {built_for or 'of an unknown version'}; "
                f"this is torch {self.version}. Install torchport again in this environment: pip "
                "install --no-build-isolation"
            )

    @property
    def libraries(self) -> list[Path]:
        """The libraries to load before the library of the virtual devices, in this order."""
        names = ["libtorch_global_deps.so", "libc10.so", "libtorch_cpu.so"]
        if self.has_cuda:
            names += ["libc10_cuda.so", "libtorch_cuda.so"]
        return [self.root / "lib" / name for name in names]


# The names of torch._C that show that a build has CUDA. The `_has_...` flags are in every build;
# the names that the expression matches exist only in builds with CUDA.
HAS_FLAGS = ("_has_cuda", "_has_cudnn", "_has_magma", "_has_cusparselt")
_OF_CUDA_BUILDS = re.compile(
    r"_cuda|_Cuda|_CUDA|_CU|_cudnn|_cusparselt|_nccl_|_gds_|_nvtx$|_MemPool$|_StaticCudaLauncher$|"
    r"_WorkqueueScope$|_(broadcast|scatter|gather)(_coalesced|_out)?$"
)


def of_cuda_builds(name: str) -> bool:
    return _OF_CUDA_BUILDS.match(name) is not None


def _built_for(library: Path) -> str | None:
    with (
        library.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        start = content.find(b"torchport: built for torch ")
        if start < 0:
            return None
        return content[start : content.find(b";", start)].decode().rsplit(" ", 1)[1]
