"""Indices out of range in what inductor compiles for a virtual device: device-side asserts.

Inductor's C++ throws at such an index, which ends the process where several threads run the loop. So
the first one is noted, zero is used in its place, and the kernel throws at its end. The caller then
reports it as what a real device asserts. The code of a device from Triton prints

    /tmp/.../c....py:30: unknown: block: [2,0,0], thread: [48,0,0] Assertion `index out of bounds: 0 <= tmp4 < 50` failed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import torch

from torchport.virtual import without_data
from torchport.virtual.torch_c_shim import graphs
from torchport.virtual.without_data import compiled

_NOTED = "torchport_failed"
_WITHOUT_DATA = without_data.wanted()  # asked once, not for each call of a kernel
IMPORT = "from torchport.virtual.compiled_asserts import call as torchport_call"


def install(device: str) -> None:
    """Changes the code generator of kernels for this type of device. Call it once."""
    from torch._inductor.codegen import cpp
    from torch._inductor.virtualized import V

    def is_ours() -> bool:
        return bool(V.graph.get_current_device_or_throw().type == device)

    _note_indices(cpp, is_ours)
    _note_asserts(cpp.CppKernel, is_ours)
    _throw_at_the_end(cpp.KernelGroup)


def call(
    kernel: Callable[..., None], name: str, device: int, written: tuple[int, ...], *arguments: Any
) -> None:
    """Calls a kernel for the device of this number, and reports what it asserts. `written` are the
    indices of the arguments that it writes to. A CUDA graph that is captured records the call."""
    source = sys._getframe(1).f_code.co_filename

    def run(*now: Any) -> None:
        for one in now:
            # A storage that was freed (resize_(0)) has no address.
            if isinstance(one, torch.Tensor) and one.data_ptr() == 0:
                torch.ops.torchport.check_memory(one, f"compiled {name}")
        if _WITHOUT_DATA:
            compiled.count(now)
            if compiled.lacks_values(now, written):
                return
        try:
            kernel(*now)
        except RuntimeError as error:
            if not torch.ops.torchport.errors_are_late():
                raise
            condition = re.sub(r"\b(\d+)L\b", r"\1", str(error))
            torch.ops.torchport.failed_assertion(
                device, f"compiled {name}", source, condition, condition
            )

    run.__name__ = name
    tape = graphs.tape_here()
    if tape is None:
        run(*arguments)
    else:
        tape.call_kernel(run, arguments, written)


def _note_indices(cpp: Any, is_ours: Callable[[], bool]) -> None:
    from torch.utils._sympy.symbol import SymT, symbol_is_type

    kernel, checking = cpp.CppKernel, cpp.CppKernel.check_bounds
    used: list[str] = []

    def check_bounds(self: Any, expr: Any, size: Any, lower: bool, upper: bool) -> None:
        if is_ours():
            used[:] = sorted(str(s) for s in expr.free_symbols if symbol_is_type(s, SymT.TMP))
        try:
            checking(self, expr, size, lower, upper)
        finally:
            used.clear()

    def noting(asserting: Callable[..., str]) -> Callable[..., str]:
        def indirect_assert(self: Any, *given: Any, **named: Any) -> str:
            line = asserting(self, *given, **named)
            start, message = f"{self.assert_function}(", ', "index out of bounds: '
            if not used or not line.startswith(start):
                return line
            condition, _, text = line.removeprefix(start).rpartition(message)
            if "all_masked()" not in condition:  # not vectorized
                # The mask is a bool, and ~ of a bool is never false.
                condition = condition.replace("| ~(", "| !(")
            zeros = " ".join(f"{name} = decltype({name})(0);" for name in used)
            return (
                f'if (!({condition})) {{ {_NOTED} = "index out of bounds: {text[:-1]}; {zeros} }}'
            )

        return indirect_assert

    kernel.check_bounds = check_bounds
    for one in (kernel, cpp.CppVecKernel):
        one.indirect_assert = noting(one.indirect_assert)


def _note_asserts(kernel: Any, is_ours: Callable[[], bool]) -> None:
    base = kernel.device_assert_async

    def device_assert_async(self: Any, cond: Any, msg: str) -> None:
        if is_ours():
            self.compute.writeline(f'if (!({cond})) {_NOTED} = "{msg}";')
        else:
            base(self, cond, msg)

    if "device_assert_async" in vars(kernel):  # since torch 2.9
        kernel.device_assert_async = device_assert_async


def _throw_at_the_end(group: Any) -> None:
    base = group.codegen_group

    def codegen_group(self: Any, *given: Any, **named: Any) -> str:
        source: str = base(self, *given, **named)
        if _NOTED not in source:
            return source
        body = source.index("{", source.index('extern "C"')) + 1
        end = source.rindex("}")
        noted = f"\n    std::atomic<const char*> {_NOTED}{{nullptr}};"
        throws = f"    if (const char* said = {_NOTED}) throw std::runtime_error(said);\n"
        return source[:body] + noted + source[body:end] + throws + source[end:]

    group.codegen_group = codegen_group
