"""Which numbers that are not there a program hangs on: a loop, a branch or a size that takes another way with values.

A number of a floating type that is read stays marked through arithmetic, until it is compared, asked whether it is
true, or made an integer. Where an integer or a plain number goes cannot be followed, so that the program's source is
read instead (`uses.py`).
"""

from __future__ import annotations

import functools
import json
import math
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

from torchport.virtual.without_data import uses

# What PyTorch itself decides by values, and what a plan may pass over: how a tensor is printed, whether a scaled
# gradient is finite (it is planned to be, so that the step is taken), what the learning rate is.
_PASSED = (
    *("torch/_tensor_str.py", "torch/_tensor.py", "torch/amp/grad_scaler.py"),
    "torch/optim/lr_scheduler.py",
)
# Operators whose results have as many elements as they can have in a plan: the figure is at most too high.
_AT_MOST = (
    *("index", "nonzero", "masked_select", "_unique2", "unique_consecutive", "_to_sparse"),
    *("_to_sparse_csr", "_to_sparse_csc", "_to_sparse_bsr", "_to_sparse_bsc", "bincount"),
)
_SIZES = ("repeat_interleave", "count of numbers")
_ANSWERS = ("equal", "_local_scalar_dense")


class _Noted:
    """What is known of the reads of one line: the line of the program, and the memory at its reads."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.peaks = _memory()[1]
        self.last: list[tuple[list[int], list[int]]] = []

    def again(self) -> None:
        self.last = [*self.last[-2:], _memory()]

    @property
    def is_steady(self) -> bool:
        """Whether the memory was the same at its last three reads: further ones would change nothing."""
        return len(self.last) == 3 and self.last[0] == self.last[1] == self.last[2]


_noted: dict[tuple[str, str, int], _Noted] = {}  # by how it is read, file and line
_native: Any = None
_seen: set[str] = set()  # lines of the program whose reads came from Python
_folders: tuple[str, ...] = ()


def _memory() -> tuple[list[int], list[int]]:
    """The bytes that are allocated of each device, and the most that were."""
    stats = [
        json.loads(_native.memory_stats(one))["allocated_bytes"]["all"]
        for one in range(_native.device_count())
    ]
    return [one["current"] for one in stats], [one["peak"] for one in stats]


def _place(frame: FrameType) -> str:
    """The line of the program at or above a frame, as C++ tells it."""
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_folders):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _asking_frame() -> FrameType:
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return frame


def _note(how: str) -> None:
    """Notes the line that asks, which may be one of PyTorch, and the line of the program above it."""
    frame = _asking_frame()
    key = (how, frame.f_code.co_filename, frame.f_lineno)
    if key not in _noted:
        _noted[key] = _Noted(_place(frame))
    _noted[key].again()


def _wrapped(value: Any) -> Any:
    if type(value) is float:
        return Absent(value)
    return AbsentInteger(value) if type(value) is int else value


def _arithmetic(base: type, name: str) -> Callable[..., Any]:
    own = getattr(base, name)

    def compute(self: Any, *others: Any) -> Any:
        result = own(self, *others)
        if result is NotImplemented and others and isinstance(others[0], (list, tuple, str, bytes)):
            _note("size")
        if base is float and isinstance(result, int):
            _note("number")  # round(v): C takes it as an index without asking it
        return tuple(map(_wrapped, result)) if type(result) is tuple else _wrapped(result)

    return functools.wraps(own)(compute)


def _asking(base: type, name: str, how: str) -> Callable[..., Any]:
    own = getattr(base, name)

    def ask(self: Any, *others: Any) -> Any:
        _note(how)
        return own(self, *others)

    return functools.wraps(own)(ask)


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "divmod")
_ARITHMETIC = [f"__{r}{name}__" for name in _BINARY for r in ("", "r")] + [
    *("__neg__", "__pos__", "__abs__", "__round__", "__floor__", "__ceil__")
]
_OF_INTEGERS = ("and", "or", "xor", "lshift", "rshift")
_COMPARISONS = ("__bool__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__")


class Absent(float):
    """A number that is not there."""

    __slots__ = ()
    __hash__ = float.__hash__

    def __reduce_ex__(self, _: Any) -> Any:
        return float, (float.__add__(self, 0.0),)

    def __copy__(self) -> Absent:
        return self

    def __deepcopy__(self, _: Any) -> Absent:
        return self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        plain = [float.__add__(one, 0.0) if type(one) is Absent else one for one in inputs]
        result = getattr(ufunc, method)(*plain, **named)
        return Absent(result) if isinstance(result, float) else result


class AbsentInteger(int):
    """An integer that is not there."""

    __hash__ = int.__hash__

    def __reduce_ex__(self, _: Any) -> Any:
        return int, (int.__add__(self, 0),)


def _fill(kind: type, base: type, arithmetic: list[str]) -> None:
    for name in arithmetic:
        setattr(kind, name, _arithmetic(base, name))
    for name in _COMPARISONS:
        setattr(kind, name, _asking(base, name, "condition"))


_fill(Absent, float, _ARITHMETIC)
_fill(
    AbsentInteger,
    int,
    [*_ARITHMETIC, "__invert__", *(f"__{r}{name}__" for name in _OF_INTEGERS for r in ("", "r"))],
)
for _name in ("__int__", "__trunc__", "__float__"):
    setattr(Absent, _name, _asking(float, _name, "number"))
Absent.is_integer = _asking(float, "is_integer", "condition")  # type: ignore[method-assign]


def _answer(value: Any) -> Any:
    """What stands for a number that was read."""
    if type(value) is list:
        return [_answer(one) for one in value]
    if isinstance(value, int):
        _note("number")  # C takes it as a size without asking it
    return _wrapped(value)


def _keep_in_math() -> None:
    """Functions of `math` that give a number give one that is not there of such a number."""
    for name in ("sqrt", "exp", "log", "log2", "log10", "log1p", "pow", "fabs", "tanh", "hypot"):
        own = getattr(math, name)

        def compute(*numbers: Any, own: Any = own) -> Any:
            result = own(*numbers)
            absent = any(type(one) in (Absent, AbsentInteger) for one in numbers)
            return Absent(result) if absent else result

        setattr(math, name, functools.wraps(own)(compute))


def _watch(torch: ModuleType, name: str, answer: Callable[[Any], Any]) -> None:
    own = getattr(torch.Tensor, name)
    lacks = torch.ops.torchport.lacks_values.default
    plain = (torch.Tensor, torch.nn.Parameter)
    modes = torch._C._len_torch_dispatch_stack

    @functools.wraps(own)
    def read(self: Any, *others: Any, **named: Any) -> Any:
        if type(self) not in plain or self.is_meta or modes() or not lacks([self]):
            return own(self, *others, **named)
        _seen.add(_place(_asking_frame()))
        return answer(own(self, *others, **named))

    _leave_alone(torch, read)
    setattr(torch.Tensor, name, read)


def _leave_alone(torch: ModuleType, function: Any) -> None:
    """Dynamo does not compile a function, nor what it calls."""
    frames = torch._C._dynamo.eval_frame
    if hasattr(frames, "set_code_exec_strategy"):
        skip = frames._FrameAction.SKIP
        frames.set_code_exec_strategy(function.__code__, frames._FrameExecStrategy(skip, skip))
    elif hasattr(frames, "skip_code"):
        frames.skip_code(function.__code__)


def _noting(how: str) -> Callable[[Any], Any]:
    def note(value: Any) -> Any:
        _note(how)
        return value

    return note


def install(torch: ModuleType, folders: list[str]) -> None:
    """`folders`: files whose names start with one of them are not the program's."""
    global _folders, _native
    _folders = tuple(folders)
    _native = torch.ops.torchport
    _keep_in_math()
    _watch(torch, "item", _answer)
    _watch(torch, "tolist", _answer)
    _watch(torch, "__bool__", _noting("condition"))
    _watch(torch, "__float__", _noting("number"))
    _watch(torch, "__int__", _noting("number"))
    _watch(torch, "__index__", _noting("size"))
    # What is an array is followed by the names of variables alone.
    _watch(torch, "numpy", _noting("array"))
    _watch(torch, "__array__", _noting("array"))


def _matters(how: str, file: str, line: int, noted: _Noted) -> bool:
    if file.endswith(_PASSED):
        return False
    matters = uses.matters(how, file, line)
    # Further rounds of a loop take the memory that the last ones took.
    return not noted.is_steady if matters is uses.Matters.ENDS else matters is uses.Matters.YES


def hangs_on(missing: list[dict[str, Any]]) -> tuple[list[str], list[str], list[int]]:
    """The lines of the program that hang on values, those whose results have the largest size, and the most bytes
    that each device had before the first of all. `missing`: the reads by operator and line."""
    lines: dict[str, bool] = {}
    peaks: list[list[int]] = []
    for (how, file, line), noted in _noted.items():
        if _matters(how, file, line, noted):
            lines[noted.place] = True
            peaks.append(noted.peaks)
    at_most = {}
    for one in missing:
        name = one["operator"].removeprefix("aten::")
        place = one["line"]
        if one["kind"] != "read" or not place:
            continue
        if name in _AT_MOST:
            at_most[place] = True
        elif name in _SIZES or (place not in _seen and name in _ANSWERS and _matters_there(place)):
            lines[place] = True
        else:
            continue
        peaks.append(one["peaks"])
    return list(lines), list(at_most), [min(of_one) for of_one in zip(*peaks, strict=False)]


def _matters_there(place: str) -> bool:
    """Whether a read matters that PyTorch's C++ made: torch.equal(), an index."""
    file, _, line = place.rpartition(":")
    return uses.matters("condition", file, int(line)) is not uses.Matters.NO
