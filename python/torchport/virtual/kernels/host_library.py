"""Compiles C++ texts for the host into shared libraries, and keeps these from run to run.

They are kept where a real device's build of torch keeps what NVRTC compiles, by the same variables:
``USE_PYTORCH_KERNEL_CACHE``, ``PYTORCH_KERNEL_CACHE_PATH``, ``XDG_CACHE_HOME``.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path

INCLUDE = Path(__file__).parent / "include"
# -fwrapv and -DNDEBUG are how a device computes. A division of integers by zero calls a function of
# torchport_jiterator.h instead of ending the program, so the library of the sanitizer is left out.
_FLAGS = (
    "-std=c++17", "-O2", "-ftree-vectorize", "-fPIC", "-shared", "-fwrapv", "-fno-math-errno",
    "-fvisibility=hidden", "-w", "-DNDEBUG", "-pthread",
)  # fmt: skip
_LIBRARIES = ("-nodefaultlibs", "-lstdc++", "-lm", "-lgcc_s", "-lgcc", "-lc")


class DoesNotCompile(RuntimeError):
    """The compiler refused a text; the message is what it said."""


def _compiler(what: str) -> list[str]:
    """The command of the C++ compiler, as torch.utils.cpp_extension chooses it.

    Raises RuntimeError, with what to install, if there is none.
    """
    chosen = os.environ.get("CXX")
    for command in [shlex.split(chosen)] if chosen else [["c++"], ["g++"], ["clang++"]]:
        if command and shutil.which(command[0]):
            return command
    missing = f"{chosen} (from CXX)" if chosen else "a C++ compiler"
    raise RuntimeError(
        f"torchport: {what} is compiled for the host, because virtual devices have no GPU, and "
        f"{missing} was not found; install g++ (Debian and Ubuntu: apt-get install g++), or set CXX "
        "to a compiler"
    )


@functools.cache
def _headers() -> bytes:
    return b"".join(path.read_bytes() for path in sorted(INCLUDE.glob("torchport_*.h")))


def _digest(text: str, command: Sequence[str]) -> str:
    """A name for what a text becomes: it changes with the compiler, the flags and the headers."""
    program = Path(shutil.which(command[0]) or command[0]).resolve()
    facts = program.stat()
    described = f"{command} {program} {facts.st_size} {facts.st_mtime_ns} {platform.machine()}"
    result = hashlib.sha256(described.encode() + b"\0" + _headers() + b"\0")
    result.update(text.encode("utf-8", "surrogateescape"))
    return result.hexdigest()[:40]


@functools.cache
def _folder(chosen: str | None, base: str | None, home: str | None) -> Path | None:
    """Where libraries are kept, by the three variables; None, with a warning, if that cannot be."""
    if chosen is None and base is None and home is None:
        warnings.warn(
            "No PYTORCH_KERNEL_CACHE_PATH or HOME environment variable set! "
            "This disables kernel caching.",
            stacklevel=2,
        )
        return None
    if chosen is not None:
        folder = Path(chosen)
    else:
        folder = Path(base) / "torch/kernels" if base else Path(home or "") / ".cache/torch/kernels"
        if Path(base or home or "").is_dir():
            with contextlib.suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
    wrong = "could not be created"
    if folder.is_dir():
        readable, writable = os.access(folder, os.R_OK), os.access(folder, os.W_OK)
        if readable and writable:
            return folder
        wrong = "is not writable" if readable else "is not readable"
    warnings.warn(
        f"Specified kernel cache directory {wrong}! This disables kernel caching. Specified directory "
        f"is {folder}. This warning will appear only once per process.",
        stacklevel=2,
    )
    return None


def _kept_in() -> Path | None:
    if os.environ.get("USE_PYTORCH_KERNEL_CACHE") == "0":
        return None
    names = ("PYTORCH_KERNEL_CACHE_PATH", "XDG_CACHE_HOME", "HOME")
    return _folder(*(os.environ.get(name) for name in names))


def _compile(text: str, command: Sequence[str], target: Path) -> None:
    """Writes the library of a text to `target`, whole or not at all."""
    with tempfile.TemporaryDirectory(prefix="torchport_", dir=target.parent) as scratch:
        source, library = Path(scratch, "text.cpp"), Path(scratch, "text.so")
        source.write_text(text, encoding="utf-8", errors="surrogateescape")
        run = subprocess.run(
            [*command, str(source), "-o", str(library), *_LIBRARIES],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
        if run.returncode != 0:
            raise DoesNotCompile(run.stderr.strip())
        library.replace(target)


def library(text: str, name: str, what: str, flags: Sequence[str] = ()) -> ctypes.CDLL:
    """The library of a C++ text, compiled now or before.

    Args:
        text: The C++ text; its includes are found in `INCLUDE`.
        name: The beginning of the file's name.
        what: What is compiled, for the error when there is no compiler.
        flags: More flags for the compiler.

    Raises:
        DoesNotCompile: The compiler refused the text.
        RuntimeError: There is no compiler.
    """
    command = [*_compiler(what), *_FLAGS, f"-I{INCLUDE}", *flags]
    folder = _kept_in()
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="torchport_") as scratch:
            target = Path(scratch, f"{name}.so")
            _compile(text, command, target)
            return ctypes.CDLL(str(target))  # stays in memory without its file
    target = folder / f"{name}_on_host_{_digest(text, command)}.so"
    if target.is_file():
        with contextlib.suppress(OSError):  # cut off, or made beside other libraries
            return ctypes.CDLL(str(target))
    _compile(text, command, target)
    return ctypes.CDLL(str(target))
