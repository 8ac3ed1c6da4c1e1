"""An extension of PyTorch as setuptools knows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from setuptools import Extension

CUDA_SUFFIXES = (".cu",)


class TorchExtension(Extension):  # type: ignore[misc]  # setuptools brings no types
    """What ``extension`` returns. BuildExtension fills in its flags when torch is available.
    Declaring it does not need torch, so metadata and source distributions do not either.

    Attributes:
        cuda_sources: The sources that nvcc compiles, only if the plan says so.
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
        self.options = options
        super().__init__(name, [*given, *more], **options)

    @property
    def host_sources(self) -> list[str]:
        return [source for source in self.sources if source not in self.cuda_sources]


def extension(
    name: str, sources: Sequence[str], cuda_sources: Iterable[str] = (), **options: Any
) -> TorchExtension:
    """Declares an extension; replaces CppExtension and CUDAExtension and takes the same options.

    Args:
        name: The module's full name, such as ``pkg._C``.
        sources: C++ and CUDA sources; those that end in ``.cu`` are CUDA's.
        cuda_sources: More sources of the CUDA part with any file ending, such as C++ that needs
            CUDA's headers.
        options: Options of ``setuptools.Extension``. ``extra_compile_args`` may be a dictionary
            with ``cxx`` and ``nvcc``.

    Returns:
        The extension, for `setup(ext_modules=...)`. If its CUDA part is built, TORCHPORT_WITH_CUDA
        and WITH_CUDA are defined.

    Example:
        >>> build.extension("pkg._C", ["ops.cpp", "ops.cu"]).cuda_sources
        ['ops.cu']
    """
    return TorchExtension(name, sources, cuda_sources, **options)
