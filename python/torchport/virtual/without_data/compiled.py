"""torch.compile on devices without data: inductor plans the buffers, and its kernels are not called.

The code that inductor generates around its kernels runs: it takes and gives back the buffers, and
calls the operators that stay operators. A kernel of which an argument has no values leaves its
results without them, as any operator of such a device; one whose arguments all have values is
compiled then, and called.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import torch

from torchport.virtual import inductor_names

UNCERTAIN = (
    "torch.compile: the buffers are those of inductor's code for the host, which fuses other loops "
    "than its code for a GPU does, pads no matrices and tunes no templates"
)
_said: set[str] = set()


class Later:
    """A kernel that is compiled when it is first called."""

    def __init__(self, compiles: Callable[[], Any]) -> None:
        self._compiles = compiles
        self._kernel: Any = None

    def __call__(self, *arguments: Any) -> Any:
        if self._kernel is None:
            found = self._compiles()
            self._kernel = found.result() if hasattr(found, "result") else found
        return self._kernel(*arguments)


def install() -> None:
    """Called after the code generators of inductor are imported, if the devices have no data."""
    from torch._inductor import async_compile, cpu_vec_isa

    # One without vectors is written in half the time, and the compiler is not asked for each kind.
    inductor_names.replace(cpu_vec_isa.valid_vec_isa_list, _no_vectors)
    base = async_compile.AsyncCompile.cpp_pybinding

    def cpp_pybinding(self: Any, argtypes: Any, source_code: Any) -> Later:
        return Later(lambda: base(self, argtypes, source_code))

    async_compile.AsyncCompile.cpp_pybinding = cpp_pybinding  # type: ignore[method-assign]


def _no_vectors() -> list[Any]:
    return []


_no_vectors.__name__ = "valid_vec_isa_list"


def count(arguments: tuple[Any, ...]) -> None:
    """A kernel runs: it takes the time of its arguments, where `torchport plan` counts it."""
    tensors = [one for one in arguments if isinstance(one, torch.Tensor)]
    torch.ops.torchport.record_compiled_kernel(tensors)


def lacks_values(arguments: tuple[Any, ...], written: tuple[int, ...]) -> bool:
    """Whether a kernel has arguments whose values are not there; then its results are made up."""
    tensors = [one for one in arguments if isinstance(one, torch.Tensor)]
    native = torch.ops.torchport
    if not native.lacks_values(tensors):
        return False
    say_once()
    native.make_up([arguments[i] for i in written if isinstance(arguments[i], torch.Tensor)])
    return True


def say_once() -> None:
    if UNCERTAIN in _said:
        return
    _said.add(UNCERTAIN)
    if os.environ.get("RANK", "0") == "0":
        sys.stderr.write(f"torchport: not exact: {UNCERTAIN}\n")


def uncertain() -> list[str]:
    """Why the figures of a plan may be others, in words."""
    return sorted(_said)
