"""Chooses the libraries that fit the installed torch, before torch is imported.

torchport's libraries use interfaces of torch that differ between releases, so that there is a folder
of them for each release: ``lib/torch-2.13.0``, called a runtime. The choice is made by torch's own
``version.py``. torch is not imported, because virtual devices have to be there before its import.
For a torch that the table does not have, ``torchport runtime build`` compiles the libraries into the
cache of the user (src/runtime_build/choice.cpp, src/package/torchportConfig.cmake: the same names).

The libraries do not depend on the build of torch (CPU, CUDA) nor on Python: the builds of one release
have the same interfaces, because they come from one revision of its source. So the revision is compared,
too: a torch that somebody built from another revision may have any version.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import re
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

from torchport import _libraries
from torchport._releases import ServedTorch, served_torches, version_in

ABOUT = "runtime.json"
LIBRARIES = (
    "libtorchport_observer.so",
    "libtorchport_virtual.so",
    "libtorchport.so",
    "libtorchport_bindings.so",
)
_ADVICE = "or compile torchport's libraries for this torch: torchport runtime build"


class UnsupportedTorch(ImportError):
    """torchport has no libraries for the installed torch, or they cannot be loaded. The message says
    what to install."""


@dataclass(frozen=True)
class Torch:
    """A torch that is not imported yet."""

    root: Path
    version: str  # the version with its build: "2.12.1+cu130"
    git_version: str  # the revision of its source; empty if it does not say
    has_cuda: bool

    @classmethod
    def at(cls, root: Path) -> Torch:
        """Reads ``root/version.py``.

        Raises:
            UnsupportedTorch: There is no such file, or it has no version.
        """
        path = root / "version.py"
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise UnsupportedTorch(
                f"torchport: torch in {root} is incomplete: {path}: {error.strerror}; install torch "
                "again"
            ) from None
        version = version_in(text)
        if version is None:
            raise UnsupportedTorch(
                f"torchport: {path} does not contain a version; install torch again"
            )
        git = re.search(r"^git_version\s*=\s*['\"](\w+)", text, re.MULTILINE)
        has_cuda = re.search(r"^cuda\b[^=]*= '", text, re.MULTILINE) is not None
        return cls(root, version, git[1] if git else "", has_cuda)

    @property
    def release(self) -> str:
        """The version without its build: "2.12.1"."""
        return self.version.partition("+")[0]

    @property
    def libraries(self) -> list[Path]:
        """The libraries to load before the library of the virtual devices, in this order."""
        names = ["libtorch_global_deps.so", "libc10.so", "libtorch_cpu.so"]
        if self.has_cuda:
            names += ["libc10_cuda.so", "libtorch_cuda.so"]
        return [self.root / "lib" / name for name in names]


def installed() -> Torch:
    """The torch that ``import torch`` would import.

    Raises:
        UnsupportedTorch: There is none, or it is incomplete.
    """
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise UnsupportedTorch(
            f"torchport: {sys.executable} has no torch. This needs torch {supported()}: "
            "pip install torch"
        )
    return Torch.at(Path(spec.origin).parent)


def require() -> Path:
    """Returns the folder of the libraries for the installed torch, for a command that needs them.

    Raises:
        UnsupportedTorch: There is no torch, or there are no libraries for it.
    """
    return find(installed())


def supported() -> str:
    """The versions of torch that torchport has libraries for, as text: "2.13.0 or 2.12.1"."""
    *most, last = (served.version for served in served_torches())
    return f"{', '.join(most)} or {last}" if most else last


def _cache() -> Path | None:
    """Where `torchport runtime build` puts its results; None if this user has no place for caches."""
    if chosen := os.environ.get("TORCHPORT_CACHE_DIR"):
        return Path(chosen, "runtimes")
    if chosen := os.environ.get("XDG_CACHE_HOME"):
        return Path(chosen, "torchport", "runtimes")
    if home := os.environ.get("HOME"):
        return Path(home, ".cache", "torchport", "runtimes")
    return None


def _built(torch: Torch) -> Path | None:
    """The folder of the libraries that were compiled on this machine for exactly this torch.

    Its name has a digest of the sources, torch's version and revision, and the size of its library:
    one revision that is built with other options has another size.
    """
    cache = _cache()
    try:
        key = (Path(__file__).parent / "lib/source/KEY").read_text(encoding="utf-8").strip()
        size = (torch.root / "lib/libtorch_cpu.so").stat().st_size
    except OSError:
        return None
    version, git = (
        re.sub(r"[^A-Za-z0-9_.+]", "-", text) for text in (torch.version, torch.git_version[:12])
    )
    folder = cache / key / f"torch-{version}-{git}-{size}" if cache else None
    return folder if folder and (folder / ABOUT).is_file() else None


def _served(torch: Torch) -> ServedTorch | None:
    """The row of the table with this version and revision."""
    for served in served_torches():
        if (served.version, served.git_version) == (torch.release, torch.git_version):
            return served
    return None


def _refusal(torch: Torch) -> UnsupportedTorch:
    for served in served_torches():
        if served.version == torch.release:
            return UnsupportedTorch(
                f"torchport: this torch says that it is {torch.version}, but its source is "
                f"{torch.git_version or 'unknown'} and that of the release "
                f"{served.git_version[:12]}. Install the release, pip install torch=={torch.release}, "
                f"{_ADVICE}"
            )
    return UnsupportedTorch(
        f"torchport: virtual devices and the commands that run models support torch {supported()}; "
        f"this is torch {torch.version} in {torch.root}. Install one of these, {_ADVICE}"
    )


def find(torch: Torch) -> Path:
    """Returns the folder of the libraries for this torch.

    Raises:
        UnsupportedTorch: There are none, or they belong to another torchport.
    """
    from torchport import __version__

    if served := _served(torch):
        folder = _libraries.folder() / f"torch-{served.built_for}"
    elif built := _built(torch):
        folder = built
    else:
        raise _refusal(torch)
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UnsupportedTorch(
            f"torchport: this installation has no libraries for torch {torch.version}: {folder} is "
            "missing; install torchport again"
        ) from None
    except (OSError, ValueError) as error:
        raise UnsupportedTorch(
            f"torchport: {folder / ABOUT} cannot be read: {error}; install torchport again"
        ) from None
    if not isinstance(about, dict) or about.get("torchport") != __version__:
        raise UnsupportedTorch(
            f"torchport: {folder} belongs to another version of torchport than {__version__}; "
            "install torchport again"
        )
    for name in LIBRARIES:  # also those that another one links, which the system's loader opens
        try:
            _check_whole(folder / name)
        except OSError as error:
            raise _unloadable(folder / name, error) from None
    return folder


def _unloadable(path: Path, error: OSError) -> UnsupportedTorch:
    whose = "torch" if path.parent.name == "lib" else "torchport"
    reason = error.strerror or str(error)
    if "undefined symbol" in reason:
        reason += ", which the torch that it was built for has"
        whose = "torch and torchport"
    return UnsupportedTorch(f"torchport: {path} cannot be loaded: {reason}. Install {whose} again")


def _check_whole(path: Path) -> None:
    """Raises OSError if the file ends too early, as after a full disk: using it would be a SIGBUS.

    The last part of a library is the table of its sections, whose place its header says (ELF-64).
    """
    if path.exists() and not path.is_file():  # to open a pipe would wait for its other end
        raise OSError("it is no file")
    with path.open("rb") as file:
        header = file.read(64)
        size = os.fstat(file.fileno()).st_size
    if len(header) < 64 or header[:5] != b"\x7fELF\x02":
        raise OSError("it is no library")
    (start,) = struct.unpack_from("<Q", header, 40)
    entry_size, count = struct.unpack_from("<HH", header, 58)
    if start + entry_size * count > size:
        raise OSError(f"it has {size} bytes, and needs {start + entry_size * count}")


def load(path: Path, kind: type[ctypes.CDLL] = ctypes.CDLL) -> ctypes.CDLL:
    """Loads one library, as a CDLL or a PyDLL, and makes its symbols visible to those that follow.

    All symbols that the library needs are looked up before any of its code runs, so a library that
    does not fit changes nothing.

    Raises:
        UnsupportedTorch: The library is damaged, or torch lacks a symbol that it needs.
    """
    try:
        _check_whole(path)
        return kind(str(path), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise _unloadable(path, error) from None


def load_torch(torch: Torch) -> None:
    """Loads torch's libraries by their full paths, so that torchport's are linked to them and to no
    others.

    Raises:
        UnsupportedTorch: A library is damaged, or they belong to another release than
            ``version.py`` says. Symbols alone do not show this: a function of another release may
            have the same name.
    """
    for path in torch.libraries:
        library = load(path)
        # What was compiled here was tried with exactly this torch, whatever it says of itself.
        if path.name == "libtorch_cpu.so" and _served(torch):
            _check_release(torch, library)


def _check_release(torch: Torch, library: ctypes.CDLL) -> None:
    try:
        ask = library.aoti_torch_abi_version  # torch 2.10 and later; in the first bytes: 2, 13, 0
    except AttributeError:
        return
    ask.restype = ctypes.c_uint64
    number = ".".join(map(str, ask().to_bytes(8, "big")[:3]))
    if number.split(".") != torch.release.split(".")[:3]:
        raise UnsupportedTorch(
            f"torchport: {torch.root / 'version.py'} says that this is torch {torch.version}, but the "
            f"libraries in {torch.root / 'lib'} are those of torch {number}; install torch again"
        )
