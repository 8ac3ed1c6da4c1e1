"""The torch that virtual devices stand on, before it is imported.

Which versions there are and what their builds are made of stands in torch_releases.json. Builds with
CUDA and without differ in this: one with CUDA brings a library with the kernels of a real device,
which is loaded before ours so that ours are put over them, and names of `torch._C` for it, which the
shim replaces where a build without lacks them. The C++ runtime's part is
src/runtime/virtual/core/build_facts.h.
"""

from __future__ import annotations

import mmap
import re
from dataclasses import dataclass
from pathlib import Path

from torchport._releases import virtual_device_versions


class UnsupportedTorch(ImportError):
    """Virtual devices were not built and tested for this torch."""


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
        supported = virtual_device_versions()
        if self.version.split("+")[0] not in supported:
            raise UnsupportedTorch(
                f"torchport: virtual devices support torch {' and '.join(supported)}; this is "
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
