"""An extension of PyTorch as setuptools knows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from setuptools import Extension

CUDA_SUFFIXES = (".cu",)
SYCL_SUFFIXES = (".sycl",)


class TorchExtension(Extension):  # type: ignore[misc]  # setuptools brings no types
    """What ``extension`` returns. BuildExtension fills in its flags when torch is available.
    Declaring it does not need torch, so metadata and source distributions do not either.

    Attributes:
        cuda_sources: The sources that nvcc compiles, only if the plan says so. For a torch with
            ROCm, torch translates them for hipcc.
        sycl_sources: The sources for Intel's GPUs, which icpx compiles, only if the plan says so.
        host_sources: The other sources; they are always compiled.

    Example:
        >>> declared = build.extension("pkg._C", ["ops.cpp", "ops.cu"], cuda_sources=["plan.cc"])
        >>> declared.cuda_sources, declared.host_sources
        (['ops.cu', 'plan.cc'], ['ops.cpp'])
    """

    def __init__(
        self, name: str, sources: Sequence[str], cuda_sources: Iterable[str] = (), **options: Any
    ) -> None:
        given = [str(source) for source in sources]
        more = [str(source) for source in cuda_sources]
        self.cuda_sources = [one for one in given if one.endswith(CUDA_SUFFIXES)] + more
        self.sycl_sources = [one for one in given if one.endswith(SYCL_SUFFIXES)]
        self.left_out: list[str] = []  # the device's sources that the plan does not compile
        self.options = options
        super().__init__(name, [*given, *more], **options)

    @property
    def host_sources(self) -> list[str]:
        device = {*self.cuda_sources, *self.sycl_sources}
        return [source for source in self.sources if source not in device]

    def sources_for(self, outcome: str) -> list[str]:
        """Returns the sources that are compiled for one outcome of a plan, such as "cuda"."""
        left_out = {*self.cuda_sources, *self.sycl_sources}
        if outcome in ("cuda", "rocm"):
            left_out -= {*self.cuda_sources}
        elif outcome == "xpu":
            left_out -= {*self.sycl_sources}
        return [source for source in self.sources if source not in left_out]


def extension(
    name: str, sources: Sequence[str], cuda_sources: Iterable[str] = (), **options: Any
) -> TorchExtension:
    """Declares an extension; replaces CppExtension and CUDAExtension and takes the same options.

    Args:
        name: The module's full name, such as ``pkg._C``.
        sources: C++, CUDA and SYCL sources; those that end in ``.cu`` are CUDA's, and those that
            end in ``.sycl`` are for Intel's GPUs.
        cuda_sources: More sources of the CUDA part with any file ending, such as C++ that needs
            CUDA's headers.
        options: Options of ``setuptools.Extension``. ``extra_compile_args`` may be a dictionary
            with ``cxx`` and ``nvcc``.

    Returns:
        The extension, for `setup(ext_modules=...)`. If its CUDA part is built, TORCHPORT_WITH_CUDA
        and WITH_CUDA are defined; for ROCm also TORCHPORT_WITH_ROCM and WITH_HIP; if its SYCL part
        is built, TORCHPORT_WITH_XPU.

    Example:
        >>> build.extension("pkg._C", ["ops.cpp", "ops.cu"]).cuda_sources
        ['ops.cu']
    """
    return TorchExtension(name, sources, cuda_sources, **options)
