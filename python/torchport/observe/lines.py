"""Finds source lines of the program, and rewrites a line if a fix is known."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import textwrap
from collections.abc import Iterator

import torch
from torch import nn

from torchport._native.observing import frames_of_location
from torchport.observe.operands import Span, span_of
from torchport.observe.result import Line
from torchport.observe.scopes import library_of

# Factories that take `device=`. For others the fix appends `.to(...)`.
_TAKES_DEVICE = frozenset(
    [
        "arange",
        "as_tensor",
        "asarray",
        "blackman_window",
        "empty",
        "empty_like",
        "eye",
        "fft_freq",
        "full",
        "full_like",
        "generate_square_subsequent_mask",
        "hamming_window",
        "hann_window",
        "linspace",
        "logspace",
        "normal",
        "ones",
        "ones_like",
        "rand",
        "rand_like",
        "randint",
        "randint_like",
        "randn",
        "randn_like",
        "randperm",
        "scalar_tensor",
        "tensor",
        "tril_indices",
        "triu_indices",
        "zeros",
        "zeros_like",
        "new_empty",
        "new_full",
        "new_ones",
        "new_tensor",
        "new_zeros",
    ]
)


def line_of(place: int) -> Line | None:
    """The program's innermost line for a place, which is a number that the observer assigned."""
    frames = frames_of_location(place)
    if not frames:
        return None
    frame = frames[0]
    return line_at(frame.file, frame.function, span_of(frame))


def line_at(file: str, function: str, span: Span) -> Line:
    """The line of a part of the source."""
    whole = linecache.getline(file, span.line)
    before = len(whole.encode()[: span.column].decode(errors="replace"))
    return Line(
        file=file,
        line=span.line,
        function=function,
        text=whole.strip(),
        expression=_source_of(file, span),
        column=max(0, before - (len(whole) - len(whole.lstrip()))),
    )


def _source_of(file: str, span: Span) -> str:
    if not span.end_line or span.end_line - span.line > 20:
        return ""
    lines = [linecache.getline(file, n).encode() for n in range(span.line, span.end_line + 1)]
    if not all(lines):
        return ""
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = lines[0][span.column :]
    return b"".join(lines).decode(errors="replace")


def _call_in(expression: str) -> ast.Call | None:
    try:
        body = ast.parse(textwrap.dedent(expression), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return body if isinstance(body, ast.Call) else None


def _name_of(call: ast.Call) -> str:
    function = call.func
    return getattr(function, "attr", getattr(function, "id", ""))


def on_device(line: Line | None, device: str) -> str:
    """Rewrites a source line that makes a tensor, so that it makes the tensor on ``device``, which
    is an expression. Empty if the line cannot be rewritten."""
    if line is None or not line.expression or "\n" in line.expression:
        return ""
    call = _call_in(line.expression)
    end = line.column + len(line.expression)
    if call is None or line.text[line.column : end] != line.expression:
        return ""
    if _name_of(call) not in _TAKES_DEVICE or has_generator(line):
        changed = f"{line.expression}.to({device})"
    elif given := next((k for k in call.keywords if k.arg == "device"), None):
        value = given.value
        changed = (
            line.expression[: value.col_offset] + device + line.expression[value.end_col_offset :]
        )
    else:
        comma = ", " if call.args or call.keywords else ""
        changed = f"{line.expression[:-1].rstrip().rstrip(',')}{comma}device={device})"
    rest = _without_moves(line.text[end:])
    return "" if rest is None else line.text[: line.column] + changed + rest


def moved_there(line: Line | None, device: str) -> str:
    """Rewrites a source line that moves a tensor, so that it moves the tensor to ``device``. Empty if the line cannot
    be rewritten."""
    if line is None or not line.expression or "\n" in line.expression or library_of(line.file):
        return ""
    call = _call_in(line.expression)
    end = line.column + len(line.expression)
    if call is None or not isinstance(call.func, ast.Attribute):
        return ""
    if not line.expression.isascii() or line.text[line.column : end] != line.expression:
        return ""
    source = line.expression
    if call.func.attr in ("cpu", "cuda"):
        changed = f"{source[: call.func.value.end_col_offset]}.to({device})"
    else:
        places = [one for one in call.args[:1] if not _is_dtype(one)]
        places += [one.value for one in call.keywords if one.arg == "device"]
        if call.func.attr != "to" or len(places) != 1:
            return ""
        changed = source[: places[0].col_offset] + device + source[places[0].end_col_offset :]
    return line.text[: line.column] + changed + line.text[end:]


def moved_at_the_end(line: Line | None, device: str) -> tuple[str, ...]:
    """The line with what it assigns or returns moved to ``device``, whatever it did before; empty if it is not one
    such statement."""
    try:
        (statement,) = ast.parse(line.text if line is not None else "").body
    except (SyntaxError, ValueError):
        return ()
    value = getattr(statement, "value", None)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Return)) or value is None:
        return ()
    assert line is not None
    text = line.text.encode()
    inner = text[value.col_offset : value.end_col_offset].decode()
    if isinstance(value, (ast.Tuple, ast.List)):
        return ()
    if not isinstance(value, (ast.Call, ast.Name, ast.Attribute, ast.Subscript)):
        inner = f"({inner})"
    before, after = text[: value.col_offset].decode(), text[value.end_col_offset :].decode()
    return (f"{before}{inner}.to({device}){after}",)


def has_generator(line: Line | None) -> bool:
    """Whether the line's call draws from a generator of its own. The generator has a device, and draws only there."""
    call = _call_in(line.expression) if line is not None else None
    return call is not None and any(
        keyword.arg == "generator"
        and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is None)
        for keyword in call.keywords
    )


def _without_moves(rest: str) -> str | None:
    """What follows a call, without the moves that would take its result elsewhere again: `.to(self.device)`,
    `.cuda()`. None if a move does more than that."""
    while found := _MOVE.match(rest):
        close = _closing(rest, found.end() - 1)
        if close is None:
            return None
        call = _call_in("x" + rest[: close + 1])
        if call is None:
            return None
        kept = [value for value in _values_of(call) if _is_dtype(value)]
        if found[1] == "to" and kept:  # .to(torch.half), or with a device before it
            return rest if len(kept) == len(_values_of(call)) else None
        rest = rest[close + 1 :]
    return rest


_MOVE = re.compile(r"\.(to|cuda|cpu)\(")


def _closing(text: str, opening: int) -> int | None:
    """Where the bracket is closed that is opened there."""
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
    return None


def _values_of(call: ast.Call) -> list[ast.expr]:
    flags = ("non_blocking", "copy")
    return [*call.args, *(k.value for k in call.keywords if k.arg not in flags)]


def _is_dtype(value: ast.expr) -> bool:
    text = ast.unparse(value)
    return text.endswith("dtype") or (
        text.startswith("torch.") and isinstance(getattr(torch, text[6:], None), torch.dtype)
    )


def assignment_of(module: nn.Module, attribute: str) -> tuple[Line | None, str]:
    """The line where the class of ``module`` assigns ``self.attribute``, and the assigned
    expression. The expression is empty if the line cannot be replaced by another statement: it
    assigns other names, too, it is one of several or not in __init__(), or it is longer than a
    line."""
    for cls in type(module).__mro__:
        if cls.__module__.startswith("torch."):
            break
        try:
            source, first = inspect.getsourcelines(cls)
            file = inspect.getsourcefile(cls) or ""
            tree = ast.parse(textwrap.dedent("".join(source)))
        except (OSError, TypeError, SyntaxError):
            continue
        if found := list(_assignments(tree, attribute)):
            (_, node), *others = found
            number = first + node.lineno - 1
            line = Line(file, number, cls.__qualname__, linecache.getline(file, number).strip())
            whole = not others and found[0][0] == "__init__" and _is_whole(node, line)
            return line, ast.unparse(node.value) if whole and node.value else ""
    return None, ""


_Assignment = ast.Assign | ast.AnnAssign


def _assignments(tree: ast.AST, attribute: str) -> Iterator[tuple[str, _Assignment]]:
    """The assignments of anything but None to ``self.attribute``, with their functions."""
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for node in ast.walk(function):
            if not isinstance(node, _Assignment) or node.value is None:
                continue
            empty = isinstance(node.value, ast.Constant) and node.value.value is None
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts = [part for target in targets for part in ast.walk(target)]
            if not empty and any(_is_own(part, attribute) for part in parts):
                yield function.name, node


def _is_whole(node: _Assignment, line: Line) -> bool:
    """Whether ``self.name = value`` is all that its line has, besides a comment."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    alone = len(targets) == 1 and isinstance(targets[0], ast.Attribute)
    try:
        (only,) = ast.parse(line.text).body
    except (SyntaxError, ValueError):
        return False
    return alone and isinstance(only, _Assignment) and not library_of(line.file)


def _is_own(target: ast.AST, attribute: str) -> bool:
    return (
        isinstance(target, ast.Attribute)
        and target.attr == attribute
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    )
