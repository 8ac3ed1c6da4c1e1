"""Single kernels, for torch.cuda._compile_kernel: what NVRTC and the driver do, on the host.

The source is rewritten as that of an extension is (`for_host`), and compiled with a launcher for each
kernel that a program can ask for. A "binary" is a name for the library, in this process only.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from torchport.virtual.kernels import code_only, for_host, host_flags
from torchport.virtual.kernels.host_library import DoesNotCompile, library

MAGIC = b"torchport kernels "
_C_KERNEL = re.compile(
    r'extern\s+"C"\s+__global__\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?void\s+'
    r"(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\("
)

# CUresult (cuda.h), and what cuGetErrorString says of it.
SUCCESS, INVALID_VALUE, INVALID_IMAGE, NOT_FOUND = 0, 1, 200, 500
_WORDS = {
    SUCCESS: b"no error",
    INVALID_VALUE: b"invalid argument",
    INVALID_IMAGE: b"device kernel image is invalid",
    NOT_FOUND: b"named symbol not found",
}
# What every device of compute capability 3.0 and newer takes (CUDA's programming guide, table of
# technical specifications): threads of a block, its sizes, the sizes of a grid.
_THREADS, _BLOCK, _GRID = 1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535)
_SHARED = 48 * 1024  # bytes of shared memory that need no setting


def _launcher(number: int, kernel: str) -> str:
    return (
        f'#line 1 "launch of {kernel}"\n'
        f'extern "C" __attribute__((visibility("default"))) std::size_t torchport_parameters_{number}() {{\n'
        f"  return torchport_host::parameters(&{kernel});\n}}\n"
        f'extern "C" __attribute__((visibility("default"))) void torchport_launch_{number}(\n'
        "    const unsigned* sizes, std::size_t shared, void** arguments) {\n"
        f"  torchport_host::launch_with(TORCHPORT_BARRIERS, sizes, shared, &{kernel}, arguments);\n}}\n"
    )


def _c_kernels(source: str) -> Iterator[str]:
    """The names of the kernels that a program finds by their plain names."""
    code = code_only(source)
    for found in _C_KERNEL.finditer(source):
        if code.startswith("extern", found.start()):
            yield found[1]


class Module:
    """The kernels of one source, by the names that a program can ask for."""

    def __init__(self, made: ctypes.CDLL, names: Sequence[str]) -> None:
        self._made, self._numbers = made, {name: i for i, name in enumerate(names)}

    def kernel(self, name: str) -> Kernel | None:
        number = self._numbers.get(name)
        return None if number is None else Kernel(self._made, number, name)


class Kernel:
    """A kernel, and the shared memory that it may have in bytes."""

    def __init__(self, made: ctypes.CDLL, number: int, name: str) -> None:
        self._name, self.shared = name, _SHARED
        self._launch = getattr(made, f"torchport_launch_{number}")
        self._launch.restype = None
        count = getattr(made, f"torchport_parameters_{number}")
        count.restype = ctypes.c_size_t
        self._parameters = int(count())

    def launch(self, grid: Sequence[int], block: Sequence[int], shared: int, arguments: Any) -> int:
        """Runs the kernel to its end. `arguments` are addresses of values.

        Raises TypeError if there are fewer than the kernel has parameters.
        """
        fits = all(
            0 < n <= most for n, most in zip((*grid, *block), (*_GRID, *_BLOCK), strict=True)
        )
        if not fits or block[0] * block[1] * block[2] > _THREADS or not 0 <= shared <= self.shared:
            return INVALID_VALUE
        if len(arguments) < self._parameters:
            raise TypeError(
                f"torchport: the kernel {self._name} has {self._parameters} parameters and was given "
                f"{len(arguments)}; a GPU would read what lies behind them in memory"
            )
        sizes = (ctypes.c_uint * 6)(*grid, *block)
        self._launch(sizes, ctypes.c_size_t(shared), arguments)
        return SUCCESS


_modules: dict[bytes, Module] = {}
_compiling = threading.Lock()


def compiled(source: str, name: str, options: Sequence[str] = ()) -> bytes:
    """The binary of a source, in which the kernel `name` can be found. Thread safe.

    Args:
        source: CUDA C++ as NVRTC takes it, so without the host's code.
        name: The kernel, which may be an instance of a template: "scale<float>".
        options: Flags for NVRTC; what the host's compiler knows of them is used.

    Raises:
        KernelNotSupported: The host cannot run it; the message has the line.
        RuntimeError: It does not compile, with the compiler's words; or there is no compiler.
    """
    names = list(dict.fromkeys([name, *_c_kernels(source)]))
    text = for_host(source, f"{name}.cu")
    barriers = "true" if "__syncthreads" in code_only(source) else "false"
    launchers = "".join(_launcher(i, kernel) for i, kernel in enumerate(names))
    text += f'\n#include "torchport_launch.h"\n#define TORCHPORT_BARRIERS {barriers}\n{launchers}'
    flags = host_flags(options)
    binary = MAGIC + hashlib.sha256(repr((text, flags)).encode()).hexdigest().encode()
    with _compiling:
        if binary not in _modules:
            word = re.sub(r"\W+", "_", name)
            try:
                made = library(text, word, "code for torch.cuda._compile_kernel", flags)
            except DoesNotCompile as error:
                raise RuntimeError(f"Kernel compilation failed:\n{error}") from None
            _modules[binary] = Module(made, names)
    return binary


def module(binary: bytes) -> Module | None:
    """The module of a binary that this process compiled."""
    return _modules.get(binary)


def words_of(result: int) -> bytes:
    """What cuGetErrorString says."""
    return _WORDS.get(result, b"unknown error")
