"""Asks questions in a process of its own, and writes each answer when it is there."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import warnings
from collections.abc import Collection, Iterator
from typing import Any, TextIO

import torch

from recorder.described import described
from recorder.normal import public
from recorder.registry import Group, Question


def answer(question: Question) -> dict[str, Any]:
    """Asks it here. The answer has "value" or "raised", and "warned" and "tolerance" if wanted."""
    torch.manual_seed(20)  # of all devices, too
    found: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found["value"] = described(question.ask())
        except NotAnswered as reason:
            found = {"not answered": str(reason)}
        except (Exception, SystemExit) as error:
            found["raised"] = [_name_of(error), str(error)]
    if question.warnings and "not answered" not in found:
        found["warned"] = sorted({str(one.message) for one in caught})
    if question.tolerance is not None:
        found["tolerance"] = question.tolerance
    return _public(found)


class NotAnswered(Exception):
    """This machine cannot answer; the text says what it lacks."""


def _name_of(error: BaseException) -> str:
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return module + kind.__qualname__


LONGEST = 2000  # characters of a text; some errors print programs


def _public(value: Any) -> Any:
    if isinstance(value, str):
        text = public(value)
        return text if len(text) <= LONGEST else text[:LONGEST] + "..."
    if isinstance(value, dict):
        return {key: _public(item) for key, item in value.items()}
    return [_public(item) for item in value] if isinstance(value, list) else value


def work(group: Group, names: Collection[str] | None, done: Collection[str], out: TextIO) -> None:
    """Answers the questions of a group that are not done; all, or only those with these names.

    Each line of `out` is JSON: ["begin", name, seconds], then ["answer", name, answer]. It returns
    early if a question has lost the device: another process has to go on.
    """
    torch._C._set_warnAlways(True)  # else a warning depends on the questions before
    for one in wanted(group, names, done):
        if _leaves or not _healthy():
            return
        _tell(out, ["begin", one.name, one.seconds])
        count = torch.cuda.device_count()
        if count < one.devices:
            found = {"not answered": f"needs {one.devices} devices, there is {count}"}
        else:
            found = answer(one)
        _tell(out, ["answer", one.name, found])
        gc.collect()


_leaves: list[str] = []


def leave_this_process(reason: str) -> None:
    """Called by a question that has left the process unfit for the next one: another goes on."""
    _leaves.append(reason)


def _healthy() -> bool:
    if torch.cuda.is_initialized():
        try:
            torch.cuda.synchronize()
        except RuntimeError:
            return False
    return True


def wanted(
    group: Group, names: Collection[str] | None, done: Collection[str]
) -> Iterator[Question]:
    for one in group.questions():
        if one.name not in done and (one.name in names if names is not None else not one.alone):
            yield one


def _tell(out: TextIO, line: list[Any]) -> None:
    out.write(json.dumps(line) + "\n")
    out.flush()


def in_child(
    group: Group, names: Collection[str] | None, done: Collection[str], pipe: int, printed: int
) -> None:
    """Becomes the process that answers; ends it."""
    status = 1
    try:
        os.setsid()
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        os.environ.update(group.environment)
        with os.fdopen(pipe, "w", encoding="utf-8") as out:
            work(group, names, done, out)
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)
