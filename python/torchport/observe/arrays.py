"""Explains the error of a tensor on a device that the program turns into a NumPy array."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from types import TracebackType

import torch

from torchport.observe.lines import line_at
from torchport.observe.naming import is_of_program
from torchport.observe.operands import Span
from torchport.observe.result import Finding
from torchport.observe.scopes import library_of

_REFUSED = re.compile(r"can't convert (\S+) device type tensor to numpy")
_ONLY_ARRAYS = ("array", "asarray", "asanyarray", "ascontiguousarray")
_WAITS = "the host waits for the device there; on the device, use a function of torch instead"


def array_of(error: BaseException | None) -> Finding | None:
    """The finding for an error of `y.numpy()`, `np.asarray(y)` or a library that does it; None for any
    other error."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        found = _REFUSED.search(str(error))
        if isinstance(error, TypeError) and found is not None:
            return _finding(error, found.group(1))
        error = error.__cause__ or error.__context__
    return None


def _finding(error: TypeError, device: str) -> Finding | None:
    frames = [one for one in _tracebacks(error) if is_of_program(one.tb_frame)]
    own = [one for one in frames if not library_of(one.tb_frame.f_code.co_filename)]
    if not frames:
        return None
    traceback = (own or frames)[-1]
    code = traceback.tb_frame.f_code
    line = line_at(code.co_filename, code.co_name, _span(traceback))
    expression = " ".join(line.expression.split())
    tensor, fix = _what_to_write(line.expression, traceback)
    return Finding(
        "error",
        "array-of-device-tensor",
        f"{expression or 'this line'} makes a NumPy array of {tensor or 'a tensor'} on {device}, and "
        "arrays are on the host",
        f"{fix}; {_WAITS}",
        line,
    )


def _tracebacks(error: BaseException) -> Iterator[TracebackType]:
    traceback = error.__traceback__
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _span(traceback: TracebackType) -> Span:
    positions = getattr(traceback.tb_frame.f_code, "co_positions", None)  # Python 3.11 and later
    if positions is not None:
        at = list(positions())[traceback.tb_lasti // 2]
        if None not in at:
            line, end_line, column, end_column = at
            return Span(line, end_line, column, end_column)
    return Span(traceback.tb_lineno, 0, 0, 0)


def _what_to_write(expression: str, traceback: TracebackType) -> tuple[str, str]:
    """The tensor's expression, and the change in words."""
    plain = "write torchport.numpy(tensor), or tensor.detach().cpu() before the array is made"
    try:
        call = ast.parse(textwrap.dedent(expression), mode="eval").body
    except (SyntaxError, ValueError):
        return "", plain
    if not isinstance(call, ast.Call):
        return "", plain
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name == "numpy" and isinstance(call.func, ast.Attribute) and not call.args:
        tensor = ast.unparse(call.func.value).removesuffix(".detach()")
        return tensor, f"write torchport.numpy({tensor}), or {tensor}.detach().cpu().numpy()"
    if name in _ONLY_ARRAYS and len(call.args) == 1 and not call.keywords:
        argument = _without_detach(call.args[0])
        if isinstance(argument, (ast.Attribute, ast.Call, ast.Subscript)) or _is_away(
            argument, traceback
        ):
            tensor = ast.unparse(argument)
            return tensor, f"write torchport.numpy({tensor})"
    given = (_without_detach(one) for one in call.args)
    tensor = next((ast.unparse(one) for one in given if _is_away(one, traceback)), "")
    return (tensor, f"pass torchport.numpy({tensor}) instead") if tensor else ("", plain)


def _without_detach(argument: ast.expr) -> ast.expr:
    """`y` for `y.detach()`, which torchport.numpy does itself."""
    function = argument.func if isinstance(argument, ast.Call) else None
    detaches = isinstance(function, ast.Attribute) and function.attr == "detach"
    return function.value if isinstance(function, ast.Attribute) and detaches else argument


def _is_away(argument: ast.expr, traceback: TracebackType) -> bool:
    """Whether an argument is a variable with a tensor that is not on the CPU."""
    if not isinstance(argument, ast.Name):
        return False
    frame = traceback.tb_frame
    value = frame.f_locals.get(argument.id, frame.f_globals.get(argument.id))
    return isinstance(value, torch.Tensor) and value.device.type != "cpu"
