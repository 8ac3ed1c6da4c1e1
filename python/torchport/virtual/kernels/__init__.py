"""Compiles CUDA kernels of extensions for the host, without nvcc, to run them on virtual devices.

``torch.utils.cpp_extension.load`` and ``load_inline`` compile CUDA sources with the C++ compiler
instead of nvcc. Macros define CUDA's additions to C++ (include/torchport_host.h). Only a launch,
``kernel<<<grid, block>>>(arguments)``, is not valid C++; this module rewrites it.
"""

from __future__ import annotations

import fcntl
import functools
import inspect
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

INCLUDE = Path(__file__).parent / "include"
CUDA_SUFFIXES = (".cu", ".cuh")
# These functions need the threads of a warp to run together, which the host does not do.
UNSUPPORTED = re.compile(
    r"\b(__shfl\w*|__ballot\w*|__any_sync|__all_sync|__activemask|__syncwarp|wmma|cooperative_groups"
    r"|cub|thrust|WARP_SHFL\w*)\b"
)


class KernelNotSupported(NotImplementedError):
    """The host cannot run a feature that a CUDA source uses; the message has the line."""


def code_only(source: str) -> str:
    """The source with spaces in place of the characters of comments and literals."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    return re.sub(
        r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
        blank,
        source,
        flags=re.DOTALL,
    )


def _closing(code: str, opening: int) -> int:
    """The position of the parenthesis that closes the one at `opening`."""
    depth = 0
    for at in range(opening, len(code)):
        if code[at] in "([{":
            depth += 1
        elif code[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at
    raise SyntaxError("torchport: the parenthesis of a kernel launch is not closed")


def _callee_start(code: str, end: int) -> int:
    """The position where the name, with its template arguments, begins that ends before `end`."""
    at = len(code[:end].rstrip())
    if code[at - 1] == ">":
        depth = 0
        while at > 0:
            at -= 1
            depth += {">": 1, "<": -1}.get(code[at], 0)
            if depth == 0:
                break
        at = len(code[:at].rstrip())
    while at > 0 and (code[at - 1].isalnum() or code[at - 1] in "_:"):
        at -= 1
    return at


def for_host(source: str, name: str) -> str:
    """Rewrites CUDA C++ as C++ that includes torchport_host.h.

    Raises KernelNotSupported, with the line, if the host cannot run the source.
    """
    code = code_only(source)
    if found := UNSUPPORTED.search(code):
        line = code.count("\n", 0, found.start()) + 1
        raise KernelNotSupported(
            f"torchport: {name}:{line}: `{found[0]}` needs the threads of a warp to run together; "
            "virtual devices cannot run this kernel. Give its callers a branch that uses plain "
            "PyTorch."
        )
    barriers = "true" if "__syncthreads" in code else "false"
    while (at := code.find("<<<")) >= 0:
        start = _callee_start(code, at)
        close = code.index(">>>", at)
        opening = code.index("(", close)
        end = _closing(code, opening)
        callee = source[start:at].strip()
        configuration = source[at + 3 : close]
        arguments = source[opening + 1 : end]
        launch = (
            f"::torchport_host::launch({barriers}, ::torchport_host::Configuration({configuration}), "
            f"[&](auto... torchport_a) {{ {callee}(torchport_a...); }}"
            f"{', ' if arguments.strip() else ''}{arguments})"
        )
        source = source[:start] + launch + source[end + 1 :]
        code = code_only(source)
    # extern __shared__ float s[]: the shared memory whose size the launch gives.
    source = re.sub(
        r"extern\s+__shared__\s+([\w:<> ]+?)\s+(\w+)\s*\[\s*\]\s*;",
        r"auto* \2 = reinterpret_cast<\1*>(::torchport_host::dynamic_shared.data());",
        source,
    )
    return f'#include "torchport_host.h"\n#line 1 "{name}"\n{source}'


def _host_sources(sources: list[str], folder: Path) -> list[str]:
    result = []
    for source in map(Path, sources):
        if source.suffix not in CUDA_SUFFIXES:
            result.append(str(source))
            continue
        text = for_host(source.read_text(encoding="utf-8"), source.name)
        target = folder / (source.stem + ".cu.host.cpp")
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
        result.append(str(target))
    return result


def host_flags(flags: Iterable[str] | None) -> list[str]:
    """The flags of nvcc that also apply to the host: macros, include paths and the standard."""
    return [flag for flag in flags or [] if flag.startswith(("-D", "-U", "-I", "-std"))]


def _prepare(options: dict[str, Any], include: list[str]) -> None:
    """Changes ``options`` to those of a build without nvcc."""
    flags = host_flags(options.pop("extra_cuda_cflags", None))
    options["extra_cflags"] = [*(options.get("extra_cflags") or []), *flags]
    paths = [str(INCLUDE), *include, *(options.get("extra_include_paths") or [])]
    options["extra_include_paths"] = list(dict.fromkeys(paths))
    options["with_cuda"] = False


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


def install(extension: ModuleType) -> None:
    """Makes torch.utils.cpp_extension compile CUDA sources for the host."""
    load, load_inline = extension.load, extension.load_inline

    def _folder(options: dict[str, Any]) -> Path:
        """A folder for host builds only, so that the results of nvcc are not overwritten."""
        if given := options.get("build_directory"):
            folder = Path(given) / "on_host"
            folder.mkdir(exist_ok=True)
        else:
            name, verbose = options["name"] + "_on_host", options.get("verbose", False)
            folder = Path(extension._get_build_directory(name, verbose))
        options["build_directory"] = str(folder)
        return folder

    def _listed(sources: Any) -> list[str]:
        return [sources] if isinstance(sources, str) else [str(source) for source in sources or []]

    @functools.wraps(load)
    def load_for_host(*args: Any, **keywords: Any) -> Any:
        options = inspect.signature(load).bind(*args, **keywords).arguments
        sources = _listed(options["sources"])
        has_cuda = any(source.endswith(CUDA_SUFFIXES) for source in sources)
        if not (has_cuda or options.get("with_cuda")):
            return load(*args, **keywords)
        with _alone(_folder(options)):
            options["sources"] = _host_sources(sources, Path(options["build_directory"]))
            _prepare(options, [str(Path(source).resolve().parent) for source in sources])
            return load(**options)

    @functools.wraps(load_inline)
    def load_inline_for_host(*args: Any, **keywords: Any) -> Any:
        options = inspect.signature(load_inline).bind(*args, **keywords).arguments
        name, cuda = options["name"], _listed(options.pop("cuda_sources", None))
        if not (cuda or options.get("with_cuda")):  # C++ may call CUDA's runtime, too
            return load_inline(*args, **keywords)
        header = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"
        host = [for_host(header + source, f"{name} (cuda_sources)") for source in cuda]
        options["cpp_sources"] = [*_listed(options["cpp_sources"]), *host]
        _prepare(options, [])
        with _alone(_folder(options)):
            return load_inline(**options)

    vars(extension).update(load=load_for_host, load_inline=load_inline_for_host)
