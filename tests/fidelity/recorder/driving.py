"""Starts processes that answer, limits their time, and keeps what they said.

This process imports torch and never uses the device, so that it can fork: a child needs no second
for its imports, and a child that crashes, hangs or loses the device takes one answer with it.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import select
import signal
import tempfile
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recorder.asking import in_child
from recorder.normal import public
from recorder.registry import Group

START_SECONDS = 300.0  # until the first question begins: imports, compilation, a cold driver


@dataclass
class Answers:
    """The answers by kind, group and name; `changed` is called after each."""

    found: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    changed: Callable[[], None] = lambda: None

    def put(self, group: Group, name: str, value: dict[str, Any]) -> None:
        self.of(group)[name] = value
        self.changed()

    def of(self, group: Group) -> dict[str, Any]:
        return self.found.setdefault(group.kind, {}).setdefault(group.name, {})


def ask_group(group: Group, answers: Answers, *, slower: float = 1.0) -> None:
    """Asks all questions of a group that have no answer. `slower` multiplies limits of time."""
    gc.freeze()  # collections in children look at no module of this process
    while _ask_in_child(group, None, answers, slower):
        pass
    for one in group.listed:
        if one.alone and one.name not in answers.of(group):
            _ask_in_child(group, {one.name}, answers, slower)


def _ask_in_child(
    group: Group, names: Collection[str] | None, answers: Answers, slower: float
) -> bool:
    """Whether it ended early and got a step further, so that another child may go on."""
    before = len(answers.of(group))
    with tempfile.TemporaryFile() as printed:
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reading)
            in_child(group, names, set(answers.of(group)), writing, printed.fileno())
        os.close(writing)
        child = _Child(group, process, reading, answers, slower)
        try:
            child.follow()
        finally:
            ended = child.end()
        _add_printed(group, names, answers, printed)
    complete = os.WIFEXITED(ended) and os.WEXITSTATUS(ended) == 0 and child.current is None
    if child.current is not None:
        answers.put(group, child.current, {"crashed": child.why or _ending(ended)})
    elif not complete and len(answers.of(group)) == before:
        # Its questions could not even be made.
        answers.put(group, "(the group)", {"crashed": child.why or _ending(ended)})
        return False
    return len(answers.of(group)) > before


class _Child:
    def __init__(
        self, group: Group, process: int, pipe: int, answers: Answers, slower: float
    ) -> None:
        self.group, self.process, self.pipe = group, process, pipe
        self.answers, self.slower = answers, slower
        self.current: str | None = None
        self.why = ""

    def follow(self) -> None:
        """Reads what it tells until it ends, or takes too long."""
        limit, rest = START_SECONDS, b""
        deadline = time.monotonic() + limit * self.slower
        while True:
            ready, _, _ = select.select([self.pipe], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                self.why = f"no answer within {limit:g} seconds"
                return
            data = os.read(self.pipe, 1 << 16)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                limit = self._hear(json.loads(line))
                deadline = time.monotonic() + limit * self.slower

    def _hear(self, told: list[Any]) -> float:
        word, name, value = told
        if word == "begin":
            self.current = name
            return value
        self.answers.put(self.group, name, value)
        self.current = None
        return START_SECONDS

    def end(self) -> int:
        """Waits for it, after killing it and what it started; its status."""
        os.close(self.pipe)
        if self.why or self.current is not None:
            _kill(self.process)
        deadline = time.monotonic() + 20
        while True:
            done, status = os.waitpid(self.process, os.WNOHANG)
            if done:
                break
            if time.monotonic() > deadline:
                _kill(self.process)
            time.sleep(0.01)
        _kill(self.process)  # what it started and left
        return status


def _kill(process: int) -> None:
    for kill in (os.killpg, os.kill):
        try:
            kill(process, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"ended with status {os.WEXITSTATUS(status)}"


def _add_printed(
    group: Group, names: Collection[str] | None, answers: Answers, printed: Any
) -> None:
    """What a question alone in its process printed, if it is a part of the answer."""
    wanted = {one.name for one in group.listed if one.prints}
    for name in wanted & set(names or ()) & set(answers.of(group)):
        printed.seek(0)
        lines = printed.read().decode(errors="replace").splitlines()
        asserted = sorted({_without_place(line) for line in lines if "Assertion" in line})
        answers.put(group, name, answers.of(group)[name] | {"printed": asserted})


def _without_place(line: str) -> str:
    from recorder.normal import comparable

    return comparable(public(line))


def ask_child(function: Callable[[], Any]) -> Any:
    """What the function returns in a child, so that this process never uses the device."""
    context = multiprocessing.get_context("fork")
    with context.Pool(1) as pool:
        return pool.apply_async(function).get(timeout=START_SECONDS)


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Writes a recording at once or not at all. Each answer has a line of its own, so that two
    recordings can be compared line by line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(_text_of(value), encoding="utf-8")
    os.replace(part, path)


def _text_of(value: dict[str, Any]) -> str:
    head = {key: item for key, item in value.items() if key != "answers"}
    kinds = ",\n".join(
        f"{json.dumps(kind)}: {{\n" + ",\n".join(map(_text_of_group, groups.items())) + "\n}"
        for kind, groups in value["answers"].items()
    )
    return json.dumps(head, indent=1)[:-2] + f',\n "answers": {{\n{kinds}\n}}\n}}\n'


def _text_of_group(named: tuple[str, dict[str, Any]]) -> str:
    name, answers = named
    lines = ",\n".join(f"{json.dumps(q)}: {json.dumps(a)}" for q, a in answers.items())
    return f"{json.dumps(name)}: {{\n{lines}\n}}"
