"""Finds source lines of the program, and rewrites a line if a fix is known."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap

from torch import nn

from torchport._native.observing import SourceLocation, frames_of_location
from torchport.observe.result import Line

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
    whole = linecache.getline(frame.file, frame.line)
    before = len(whole.encode()[: frame.column].decode(errors="replace"))
    return Line(
        file=frame.file,
        line=frame.line,
        function=frame.function,
        text=whole.strip(),
        expression=_source_between(frame),
        column=max(0, before - (len(whole) - len(whole.lstrip()))),
    )


def _source_between(frame: SourceLocation) -> str:
    if not frame.end_line or frame.end_line - frame.line > 20:
        return ""
    lines = [
        linecache.getline(frame.file, n).encode() for n in range(frame.line, frame.end_line + 1)
    ]
    if not all(lines):
        return ""
    lines[-1] = lines[-1][: frame.end_column]
    lines[0] = lines[0][frame.column :]
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
    if _name_of(call) not in _TAKES_DEVICE:
        changed = f"{line.expression}.to({device})"
    elif given := next((k for k in call.keywords if k.arg == "device"), None):
        value = given.value
        changed = (
            line.expression[: value.col_offset] + device + line.expression[value.end_col_offset :]
        )
    else:
        comma = ", " if call.args or call.keywords else ""
        changed = f"{line.expression[:-1].rstrip().rstrip(',')}{comma}device={device})"
    return line.text[: line.column] + changed + line.text[end:]


def assignment_of(module: nn.Module, attribute: str) -> tuple[Line | None, str]:
    """The line where the class of ``module`` assigns ``self.attribute``, and the assigned
    expression."""
    for cls in type(module).__mro__:
        if cls.__module__.startswith("torch."):
            break
        try:
            source, first = inspect.getsourcelines(cls)
            file = inspect.getsourcefile(cls) or ""
            tree = ast.parse(textwrap.dedent("".join(source)))
        except (OSError, TypeError, SyntaxError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and any(_is_own(t, attribute) for t in node.targets):
                number = first + node.lineno - 1
                text = linecache.getline(file, number).strip()
                return Line(file, number, cls.__qualname__, text), ast.unparse(node.value)
    return None, ""


def _is_own(target: ast.expr, attribute: str) -> bool:
    return (
        isinstance(target, ast.Attribute)
        and target.attr == attribute
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    )
