"""Applies a changed line to the program in memory and runs it, before the line is shown as the remedy.

The functions that have the line get the code of the changed source for one run of a copy of the model. A line of
``__init__`` that makes a buffer of an attribute is done to the copy itself.
"""

from __future__ import annotations

import copy
import gc
import linecache
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import CodeType, FunctionType

import torch
from torch import nn

from torchport.observe.fixes import Attribute, Fix
from torchport.observe.result import Line, Mixed

# Runs the call that failed with another model, and returns what then mixes devices, if anything does. Raises what
# the model raises.
Run = Callable[[nn.Module], Mixed | None]


_MOST = 8  # tensors that one line makes on the wrong device


class _NotTried(Exception):
    """Why a line was not tried."""


class Trial:
    """Tries changed lines on copies of ``model``."""

    def __init__(self, model: nn.Module, run: Run) -> None:
        self._model = model
        self._run = run

    def best_of(self, fix: Fix, is_same: Callable[[Mixed], bool]) -> Fix:
        """The fix with the first of its lines that passes. A line passes with which the call mixes no devices, or does
        so at a later place: ``is_same`` says of what is mixed then whether it is what the fix is for. Without such a
        line the fix has none, and says what was tried."""
        if not fix.line or fix.at is None:
            return fix
        tried = []
        for line in [fix.line, *fix.others]:
            try:
                line, left = self._grown(replace(fix, line=line))
            except _NotTried as why:
                tried.append(f"{line} (not tried: {why})")
                continue
            except Exception as error:
                words = str(error).strip().partition("\n")[0]
                tried.append(f"{line} ({type(error).__name__}: {words})")
                continue
            if left is None:
                return replace(fix, line=line, tried="passes")
            if not is_same(left):
                at = f" at {left.line}" if left.line else ""
                return replace(fix, line=line, tried=f"passes here; what is mixed next is{at}")
            tried.append(f"{line} (the same error)")
        text = "; ".join(dict.fromkeys(tried))
        return replace(fix, line="", tried=f"no rewrite was found that passes; at {fix.at}: {text}")

    def _grown(self, fix: Fix) -> tuple[str, Mixed | None]:
        """The line after all fixes of what else it makes, and what is mixed then."""
        left = self._left_by(fix)
        for _ in range(_MOST):
            if left is None or not left.fixed_line or left.fix_at is None or fix.at is None:
                break
            if (left.fix_at.file, left.fix_at.line) != (fix.at.file, fix.at.line):
                break
            if left.fixed_line == fix.line:
                break
            fix = replace(fix, line=left.fixed_line)
            left = self._left_by(fix)
        return fix.line, left

    def _left_by(self, fix: Fix) -> Mixed | None:
        assert fix.at is not None
        try:
            model = copy.deepcopy(self._model)
        except Exception as error:
            raise _NotTried(f"the model cannot be copied, {type(error).__name__}") from None
        with _same_chance(self._model):
            if fix.attribute is not None:
                _register(self._model, model, fix.attribute)
                return self._run(model)
            with _with_line(fix.at, fix.line):
                return self._run(model)


@contextmanager
def _same_chance(model: nn.Module) -> Iterator[None]:
    """The random numbers that the program draws next are the same after the block."""
    kinds = {tensor.device.type for tensor in [*model.parameters(), *model.buffers()]}
    restore: list[Callable[[], object]] = [
        partial(random.setstate, random.getstate()),
        partial(torch.set_rng_state, torch.get_rng_state()),
    ]
    if "numpy" in sys.modules:
        chance = sys.modules["numpy"].random
        restore.append(partial(chance.set_state, chance.get_state()))
    for kind in kinds - {"cpu", "meta"}:
        device = torch.get_device_module(kind)
        every = "_all" if hasattr(device, "get_rng_state_all") else ""
        state = getattr(device, f"get_rng_state{every}")()
        restore.append(partial(getattr(device, f"set_rng_state{every}"), state))
    try:
        yield
    finally:
        for one in restore:
            one()


def _register(original: nn.Module, model: nn.Module, attribute: Attribute) -> None:
    """Makes a buffer of an attribute, on the device that it moves to."""
    path = next(
        (name for name, one in original.named_modules() if one is attribute.module),
        None,
    )
    if path is None:
        raise _NotTried("the module is not part of the model")
    module = model.get_submodule(path)
    value = getattr(module, attribute.name)
    if not isinstance(value, torch.Tensor):
        raise _NotTried("the attribute is no tensor")
    delattr(module, attribute.name)
    module.register_buffer(attribute.name, value.to(attribute.device), persistent=False)


@contextmanager
def _with_line(at: Line, text: str) -> Iterator[None]:
    """Functions run the changed line until the end."""
    lines = linecache.getlines(at.file)
    if not 0 < at.line <= len(lines) or lines[at.line - 1].strip() != at.text:
        raise _NotTried("the file is another one now")
    before = lines[at.line - 1]
    indent = before[: len(before) - len(before.lstrip())]
    changed = [*lines[: at.line - 1], f"{indent}{text}\n", *lines[at.line :]]
    changes = list(_changes(at, "".join(changed)))
    if not changes:
        raise _NotTried("no function that runs has this line")
    done: list[tuple[FunctionType, CodeType]] = []
    known = linecache.cache.get(at.file)
    try:
        linecache.cache[at.file] = (sum(map(len, changed)), None, changed, at.file)
        for function, code in changes:
            done.append((function, function.__code__))
            function.__code__ = code
        yield
    finally:
        for function, own in reversed(done):
            function.__code__ = own
        if known is not None:
            linecache.cache[at.file] = known


def _changes(at: Line, source: str) -> Iterator[tuple[FunctionType, CodeType]]:
    """The functions that have the line, with their code in the changed source."""
    try:
        whole = compile(source, at.file, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise _NotTried(f"it is no Python: {error.msg}") from None
    codes = {_name_of(code): code for code in _codes_in(whole)}
    for function in gc.get_objects():
        if type(function) is not FunctionType:
            continue
        own = function.__code__
        if own.co_filename != at.file or not _has_line(own, at.line):
            continue
        code = codes.get(_name_of(own))
        if code is not None and code.co_freevars == own.co_freevars:
            yield function, code


def _name_of(code: CodeType) -> tuple[str, int]:
    return code.co_name, code.co_firstlineno


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes_in(constant)


def _has_line(code: CodeType, line: int) -> bool:
    if code.co_firstlineno > line:
        return False
    return any(line == number for one in _codes_in(code) for *_, number in one.co_lines())
