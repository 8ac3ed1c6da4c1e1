"""CUDA extensions on virtual devices: torch.utils.cpp_extension builds them with ``torchport nvcc``.

PyTorch's own code makes the builds, with a CUDA_HOME whose compiler, headers and libraries are those of
the virtual toolkit (lib/cuda of the package). What is built does not take the place of a build for a GPU:
the files of modules end in ``.torchport.so`` or so, which only a Python with virtual devices looks for, and
intermediate files have folders of their own.
"""

from __future__ import annotations

import ctypes
import fcntl
import functools
import importlib.machinery
import inspect
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from torchport import _libraries, _runtimes

# What is built to be checked does not take the place of other builds either.
CHECKED = bool(os.environ.get("TORCHPORT_CHECK_KERNELS"))
MARK = "torchport_checked" if CHECKED else "torchport"
# What modules for virtual devices need first, so that a plain Python says its name (see
# src/cuda/runtime/names/torchport_run.cpp).
NEEDED = "virtual_devices_need_torchport_run"
CUDA_SUFFIXES = (".cu", ".cuh")
STRIPPING = ("-s", "-Wl,-s", "-Wl,-S", "-Wl,--strip-all", "-Wl,--strip-debug")


def toolkit() -> Path:
    """CUDA_HOME of the virtual devices."""
    return _libraries.folder() / "cuda"


def set_environment() -> None:
    """Makes this process and those that it starts find the virtual toolkit; `torchport run` did already."""
    home = str(toolkit())
    if os.environ.get("CUDA_HOME") == home:
        return
    os.environ.update(CUDA_HOME=home, CUDA_PATH=home)
    program = Path(sys.executable).parent / "torchport"
    if program.is_file():
        os.environ["TORCHPORT_PROGRAM"] = str(program)
    os.environ["PATH"] = os.pathsep.join([f"{home}/bin", os.environ.get("PATH", os.defpath)])


def tell_ccache() -> None:
    """torch compiles with ccache where it is, which knows an object by its words and headers.

    Neither names the program that is nvcc, nor whether it checks kernels; files that ccache reads, too, do.
    """
    program = os.environ.get("TORCHPORT_PROGRAM", "")
    checker = str(toolkit() / "lib64" / "libtorchport_cuda_check.so") if CHECKED else ""
    before = os.environ.get("CCACHE_EXTRAFILES", "").split(os.pathsep)
    files = [one for one in (*before, program, checker) if one]
    os.environ["CCACHE_EXTRAFILES"] = os.pathsep.join(dict.fromkeys(files))


def load_cuda(runtime: Path, mode: int = ctypes.RTLD_GLOBAL) -> ctypes.CDLL:
    """Loads CUDA's runtime, its driver and NVRTC, which are one library.

    `runtime` is the folder with torchport's libraries for the torch that is loaded.
    """
    for name in (f"lib{NEEDED}.so", "libtorchport_cuda_shared_memory.so", "libtorchport_cuda.so"):
        cuda = ctypes.CDLL(str(toolkit() / "lib64" / name), mode=mode)
    if CHECKED:
        ctypes.CDLL(str(toolkit() / "lib64" / "libtorchport_cuda_check.so"), mode=mode)
    # Both have the same devices, and one account of memory (src/runtime/device/cuda_devices.h).
    devices = ctypes.CDLL(str(runtime / "libtorchport_virtual.so")).torchport_virtual_devices
    devices.restype = ctypes.c_void_p
    cuda.torchport_cuda_use_devices(ctypes.c_void_p(devices()))
    return cuda


def load_libraries(runtime: Path) -> None:
    """Loads what extensions link: CUDA's runtime, and PyTorch's functions for CUDA."""
    load_cuda(runtime)
    ctypes.CDLL(str(runtime / "libtorchport_torch_cuda.so"), mode=ctypes.RTLD_GLOBAL)


def suffixes() -> list[str]:
    """The ends of the files of modules that are built for virtual devices, the wanted ones first."""
    marks = dict.fromkeys([MARK, "torchport"])
    return [
        f".{mark}{suffix}" for mark in marks for suffix in importlib.machinery.EXTENSION_SUFFIXES
    ]


def find_modules() -> None:
    """Lets imports find modules that were built for virtual devices, before those of other builds."""
    machinery = importlib.machinery
    hook = machinery.FileFinder.path_hook(
        (machinery.ExtensionFileLoader, [*suffixes(), *machinery.EXTENSION_SUFFIXES]),
        (machinery.SourceFileLoader, machinery.SOURCE_SUFFIXES),
        (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
    )
    for at, other in enumerate(sys.path_hooks):
        if getattr(other, "__name__", "") == "path_hook_for_FileFinder":
            sys.path_hooks[at] = hook
            sys.path_importer_cache.clear()
            return


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lets one process at a time build in a folder that no other program uses.

    The file `lock`, by which torch does the same, stays behind when a build is killed, and the next
    build would wait for it forever.
    """
    with (folder / "torchport.lock").open("w") as ours:
        fcntl.flock(ours, fcntl.LOCK_EX)
        (folder / "lock").unlink(missing_ok=True)
        yield


def _needs_cuda(extension: Any) -> bool:
    return "c10_cuda" in (extension.libraries or []) or any(
        str(source).endswith(CUDA_SUFFIXES) for source in extension.sources
    )


def _marked(path: str) -> str:
    """The name of a module's file, with the mark before its ends: ``a/b.torchport.cpython-311.so``."""
    folder, name = os.path.split(path)
    stem, dot, rest = name.partition(".")
    return os.path.join(folder, f"{stem}.{MARK}{dot}{rest}")


def _keep_lines(extension: Any) -> None:
    """Links without the options that take away what the checker knows lines by."""
    given = extension.extra_link_args or []
    extension.extra_link_args = [one for one in given if one not in STRIPPING]


def _install_builder(extension: ModuleType) -> None:
    builder = extension.BuildExtension
    names, options, build = (
        builder.get_ext_filename, builder.finalize_options, builder.build_extensions
    )  # fmt: skip

    @functools.wraps(names)
    def get_ext_filename(self: Any, ext_name: str) -> str:
        path = str(names(self, ext_name))
        for one in self.extensions or []:
            if ext_name in (one.name, one.name.rpartition(".")[2]) and _needs_cuda(one):
                return _marked(path)
        return path

    @functools.wraps(options)
    def finalize_options(self: Any) -> None:
        options(self)
        if any(map(_needs_cuda, self.extensions or [])):
            self.build_temp = f"{self.build_temp}.{MARK}"

    @functools.wraps(build)
    def build_extensions(self: Any) -> None:
        ours = [one for one in self.extensions or [] if _needs_cuda(one)]
        if not ours:
            build(self)
            return
        if CHECKED:
            for one in ours:
                _keep_lines(one)
        folder = Path(self.build_temp)
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            build(self)
        files = ", ".join(os.path.basename(self.get_ext_fullpath(one.name)) for one in ours)
        print(
            f"torchport: built for virtual devices: {files}; a Python finds it under "
            "`torchport run` only",
            file=sys.stderr,
        )

    builder.get_ext_filename, builder.finalize_options = get_ext_filename, finalize_options
    builder.build_extensions = build_extensions


def _folder(extension: ModuleType, options: dict[str, Any]) -> Path:
    """A folder for builds for virtual devices only, so that the results of nvcc are not overwritten."""
    if given := options.get("build_directory"):
        folder = Path(given) / MARK
        folder.mkdir(exist_ok=True)
    else:
        name, verbose = f"{options['name']}_{MARK}", options.get("verbose", False)
        folder = Path(extension._get_build_directory(name, verbose))
    options["build_directory"] = str(folder)
    return folder


def _wrapped(extension: ModuleType, function: Any, cuda_argument: str) -> Any:
    @functools.wraps(function)
    def build(*args: Any, **keywords: Any) -> Any:
        options = inspect.signature(function).bind(*args, **keywords).arguments
        given = options.get(cuda_argument) or []
        listed = [given] if isinstance(given, str) else [str(one) for one in given]
        if cuda_argument == "sources":
            listed = [one for one in listed if one.endswith(CUDA_SUFFIXES)]
        if not (listed or options.get("with_cuda")):
            return function(*args, **keywords)
        with _alone(_folder(extension, options)):
            return function(**options)

    return build


def install(extension: ModuleType) -> None:
    """Changes torch.utils.cpp_extension, and what the processes find that it starts."""
    set_environment()
    tell_ccache()
    _install_builder(extension)
    vars(extension).update(
        CUDA_HOME=str(toolkit()),
        # The compiler is the host's own, which fits itself.
        _check_cuda_version=lambda *args: None,
        load=_wrapped(extension, extension.load, "sources"),
        load_inline=_wrapped(extension, extension.load_inline, "cuda_sources"),
    )


def prepare(torch_root: Path) -> None:
    """What has to be there before a program imports an extension. Call it after torch is imported."""
    load_libraries(_runtimes.find(_runtimes.Torch.at(torch_root)))
    find_modules()
