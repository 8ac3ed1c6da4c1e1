"""Functions for torch.cuda.jiterator: C++ text that is compiled for the host, once for each type.

A program gives the text of a template, such as ``template <typename T> T f(T x, T y) { ... }``. The
loop over it, in the form that src/runtime/virtual/operators/jiterator.cpp calls, is compiled with it.
"""

from __future__ import annotations

import ctypes
import math
import operator
import struct
import threading
from typing import Any, NamedTuple

from torchport.virtual.kernels.host_library import DoesNotCompile, library

_DIVISIONS = (
    "-fsanitize=integer-divide-by-zero",
    "-fno-sanitize-recover=integer-divide-by-zero",
)


class Function(NamedTuple):
    """A function for given types; the fields decide what is compiled."""

    code: str
    name: str
    by_reference: bool  # whether it writes its results to references, after its other arguments
    outputs: int
    inputs: int
    type: str  # in which it computes, in C++
    numbers: tuple[str, ...]  # the types in C++ of what it takes besides the inputs

    def text(self) -> str:
        """The C++ text with the loop."""
        outputs = [f"torchport_o{i}" for i in range(self.outputs)]
        inputs = [f"torchport_i{i}" for i in range(self.inputs)]
        places = [*outputs, *inputs]
        numbers = [f"torchport_n{i}" for i in range(len(self.numbers))]
        arguments = [f"torchport_load<torchport_t>({place})" for place in inputs] + numbers
        results = [f"torchport_r{i}" for i in range(self.outputs)]
        if self.by_reference:
            call = (
                f"torchport_t {', '.join(f'{result}{{}}' for result in results)}; "
                f"::{self.name}<torchport_t>({', '.join([*arguments, *results])});"
            )
        else:
            call = f"torchport_t {results[0]} = ::{self.name}<torchport_t>({', '.join(arguments)});"
        stores = " ".join(
            f"*reinterpret_cast<torchport_t*>({place}) = {result};"
            for place, result in zip(outputs, results, strict=True)
        )
        total = len(places)
        parameters = [f"char* {place}" for place in places]

        def loop(step: str) -> str:
            at = ", ".join(f"at{i} + k * {step.format(i)}" for i in range(total))
            return f"for (int64_t k = 0; k < size0; ++k) torchport_one({at});"

        lines = [
            '#include "torchport_jiterator.h"',
            f'#line 1 "{self.name}"',
            self.code,
            f'#line 1 "call of {self.name}"',
            'extern "C" __attribute__((visibility("default"))) void torchport_jiterator_loop(',
            "    char** data, const int64_t* strides, int64_t size0, int64_t size1,",
            "    const int64_t* extra) {",
            f"using torchport_t = {self.type};",
            *(
                f"const {kind} {number} = torchport_number<{kind}>(extra + {2 * i});"
                for i, (kind, number) in enumerate(zip(self.numbers, numbers, strict=True))
            ),
            f"const auto torchport_one = [&]({', '.join(parameters)}) {{ {call} {stores} }};",
            *(f"char* at{i} = data[{i}];" for i in range(total)),
            "constexpr int64_t width = sizeof(torchport_t);",
            "const bool dense = "
            + " && ".join(f"strides[{i}] == width" for i in range(total))
            + ";",
            "for (int64_t j = 0; j < size1; ++j) {",
            f"if (dense) {loop('width')}",
            f"else {loop('strides[{}]')}",
            *(f"at{i} += strides[{total + i}];" for i in range(total)),
            "}",
            "}",
        ]
        return "\n".join(lines) + "\n"


_compiled: dict[Function, int] = {}
_libraries: list[ctypes.CDLL] = []  # keeps the code in memory
_compiling = threading.Lock()


def address(function: Function) -> int:
    """The address of the compiled loop of a function. Thread safe.

    Raises RuntimeError with the compiler's words if the code does not compile, or with what to install
    if there is no compiler.
    """
    found = _compiled.get(function)
    if found is not None:
        return found
    if "complex" in " ".join(function.numbers) and "complex" not in function.type:
        raise RuntimeError(
            f"{function.code}\n{function.name}: error: a complex number is given to a function that "
            f"computes in {function.type}"
        )
    with _compiling:
        if function not in _compiled:
            try:
                made = library(
                    function.text(), function.name, "code for torch.cuda.jiterator", _DIVISIONS
                )
            except DoesNotCompile as error:
                raise RuntimeError(f"{function.code}\n{error}") from None
            _libraries.append(made)
            loop = ctypes.cast(made.torchport_jiterator_loop, ctypes.c_void_p).value
            assert loop is not None
            _compiled[function] = loop
        return _compiled[function]


def number(value: Any) -> tuple[str, tuple[int, int]]:
    """The type in C++ of a number that a program gives besides the tensors, and its bits in two words.

    Raises RuntimeError for an integer that has more than 64 bits, TypeError for what is no number.
    """
    if isinstance(value, bool):
        return "bool", (int(value), 0)
    if isinstance(value, complex):
        return "std::complex<double>", struct.unpack(
            "2q", struct.pack("2d", value.real, value.imag)
        )
    if not isinstance(value, float) and hasattr(value, "__index__"):
        whole = operator.index(value)
        if not -(2**63) <= whole < 2**63:
            raise RuntimeError("Overflow when unpacking long long")
        return "long long", (whole, 0)
    (bits,) = struct.unpack("q", struct.pack("d", math.ldexp(value, 0)))
    return "double", (bits, 0)
