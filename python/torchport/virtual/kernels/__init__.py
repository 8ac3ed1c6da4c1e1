"""Compiles single kernels for the host, for ``torch.cuda._compile_kernel`` and jiterator.

Macros define CUDA's additions to C++ (include/torchport_host.h). Only a launch,
``kernel<<<grid, block>>>(arguments)``, is not valid C++; this module rewrites it. Extensions are built
by ``torchport nvcc`` instead (see extensions.py), which knows all of the language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

INCLUDE = Path(__file__).parent / "include"
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


def host_flags(flags: Iterable[str] | None) -> list[str]:
    """The flags of nvcc that also apply to the host: macros, include paths and the standard."""
    return [flag for flag in flags or [] if flag.startswith(("-D", "-U", "-I", "-std"))]
