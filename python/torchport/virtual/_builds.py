"""All that virtual devices know of versions and builds of torch.

What the C++ runtime knows stands in src/runtime/virtual/core/build_facts.h. The builds differ in this: one with
CUDA brings a library with the kernels of a real device, which is loaded before ours so that ours
are put over them, and names of `torch._C` for it, which the shim replaces where a build without
lacks them.
"""

from __future__ import annotations

import mmap
import re
from dataclasses import dataclass
from pathlib import Path

SUPPORTED = ("2.12.1", "2.13.0")


class UnsupportedTorch(ImportError):
    """This torch is not one that virtual devices were built and tested for."""


@dataclass(frozen=True)
class Torch:
    """A torch that is not imported yet."""

    root: Path
    version: str  # with the build: "2.12.1+cu130"
    has_cuda: bool

    @classmethod
    def at(cls, root: Path) -> Torch:
        text = (root / "version.py").read_text()
        found = re.search(r"^__version__ = '([^']*)'", text, re.MULTILINE)
        has_cuda = re.search(r"^cuda\b[^=]*= '", text, re.MULTILINE) is not None
        return cls(root, found[1] if found else "unknown", has_cuda)

    def check(self) -> None:
        if self.version.split("+")[0] not in SUPPORTED:
            raise UnsupportedTorch(
                f"torchport: virtual devices support torch {' and '.join(SUPPORTED)}; this is "
                f"{self.version}. Run without `torchport run`, or install a supported torch."
            )

    def check_library(self, library: Path) -> None:
        """A library that was built against another torch would crash, or worse."""
        built_for = _built_for(library)
        if built_for != self.version:
            raise UnsupportedTorch(
                f"torchport: {library} was built for torch {built_for or 'of an unknown version'}; "
                f"this is {self.version}. "
                "Install torchport again in this environment: pip install --no-build-isolation"
            )

    @property
    def libraries(self) -> list[Path]:
        """What has to be loaded before ours, in this order."""
        names = ["libtorch_global_deps.so", "libc10.so", "libtorch_cpu.so"]
        if self.has_cuda:
            names += ["libc10_cuda.so", "libtorch_cuda.so"]
        return [self.root / "lib" / name for name in names]


# Names of torch._C by which torch and programs see that a build is one with CUDA. `_has_...` say so,
# the others are there or not.
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


@dataclass(frozen=True)
class CUDA:
    """The CUDA that a build of torch is for, as a program sees it."""

    version: tuple[int, int]
    cudnn: tuple[int, int, int]
    architectures: str

    @property
    def number(self) -> int:
        return self.version[0] * 1000 + self.version[1] * 10

    @property
    def cudnn_number(self) -> int:
        major, minor, patch = self.cudnn
        return major * 10000 + minor * 100 + patch


# torch 2.12 and 2.13 come for CUDA 13.0 by default; devices older than its kernels (below compute
# capability 7.5) need the one for CUDA 12.6. The architectures: PYTORCH_RELEASES_CODE_CC of
# torch/cuda/__init__.py.
DEFAULT = CUDA((13, 0), (9, 20, 0), "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120")
OLDER = CUDA((12, 6), (9, 10, 2), "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90")
NCCL = (2, 29, 7)


def cuda_for(capability: tuple[int, int]) -> CUDA:
    """The CUDA of the build that one would install for a device of this compute capability."""
    return OLDER if capability < (7, 5) else DEFAULT
