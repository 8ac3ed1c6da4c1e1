"""Where questions are kept, and how the files of `questions/` add theirs.

A file `questions/KIND/GROUP.py` is a group of a kind. No list names it: the folder is walked. Its
questions are functions with `@question()`, lines of code with `expressions()`, or what a function
with `@generated` yields, where names are known only once a library is imported. A module may set
`ENVIRONMENT`, variables that are set before the device is used; `HEAVY = True`, if its questions are
for a GPU alone; `EXCLUSIVE = True`, if no other process may use the device meanwhile.
"""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

QUESTIONS = Path(__file__).resolve().parents[1] / "questions"
SECONDS = 60.0


@dataclass(frozen=True)
class Question:
    """One question. What `ask` returns, or raises, is the answer.

    `alone`: in a process of its own, because the device may be lost afterwards. `devices`: how many
    it needs. `tolerance`: floats may differ by it, relative to the larger of 1 and their size, and
    hashes of bytes count no more. `warnings`: they are a part of the answer. `prints`: what the
    process writes to its standard error is, too.
    """

    name: str
    ask: Callable[[], Any]
    seconds: float = SECONDS
    alone: bool = False
    devices: int = 1
    tolerance: float | None = None
    warnings: bool = False
    prints: bool = False


@dataclass
class Group:
    """The questions of one file."""

    kind: str
    name: str
    environment: dict[str, str] = field(default_factory=dict)
    listed: list[Question] = field(default_factory=list)
    generators: list[Callable[[], Iterable[Question]]] = field(default_factory=list)
    heavy: bool = False
    exclusive: bool = False

    @property
    def path(self) -> str:
        return f"{self.kind}/{self.name}"

    def questions(self) -> Iterator[Question]:
        """All of them. A generator may import much, and use the device: call this in a child."""
        yield from self.listed
        for generator in self.generators:
            yield from generator()


_groups: dict[str, Group] = {}
_loading: list[Group] = []


def question(name: str = "", **settings: Any) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Makes a function a question; its name is the function's unless given."""

    def decorate(function: Callable[[], Any]) -> Callable[[], Any]:
        add(Question(name or function.__name__, function, **settings))
        return function

    return decorate


def generated(function: Callable[[], Iterable[Question]]) -> Callable[[], Iterable[Question]]:
    """The function yields questions when the group is asked."""
    _loading[-1].generators.append(function)
    return function


def expressions(lines: str, names: dict[str, Any] | Callable[[], dict[str, Any]], **settings: Any):
    """Each line is a question: its name is the line, its answer what the line's code evaluates to.

    Statements before the last `;` are executed first. `names` are what the code may use; a function
    makes them anew for each question.
    """
    for line in map(str.strip, lines.strip().splitlines()):
        if line and not line.startswith("#"):
            add(Question(line, _Code(line, names), **settings))


def add(one: Question) -> None:
    group = _loading[-1]
    if any(one.name == other.name for other in group.listed):
        raise ValueError(f"{group.path}: there are two questions {one.name!r}")
    group.listed.append(one)


@dataclass(frozen=True)
class _Code:
    line: str
    names: dict[str, Any] | Callable[[], dict[str, Any]]

    def __call__(self) -> Any:
        scope = dict(self.names() if callable(self.names) else self.names)
        statements, _, last = self.line.rpartition(";")
        exec(statements, scope)
        return eval(last.strip(), scope)


def load(folder: Path = QUESTIONS) -> dict[str, Group]:
    """Every group of the folder, by "KIND/GROUP", in the order of their names. Imports torch."""
    _groups.clear()
    for path in sorted(folder.glob("*/*.py")):
        if path.name.startswith("_"):
            continue
        group = Group(path.parent.name, path.stem)
        _loading.append(group)
        try:
            name = f"fidelity_questions_{group.kind}_{group.name}"
            spec = importlib.util.spec_from_file_location(name, path)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        finally:
            _loading.pop()
        group.environment = getattr(module, "ENVIRONMENT", {})
        group.exclusive = getattr(module, "EXCLUSIVE", False)
        group.heavy = getattr(module, "HEAVY", False)
        _groups[group.path] = group
    return dict(_groups)


def chosen(
    groups: dict[str, Group],
    only: list[str],
    names: list[str],
    part: tuple[int, int] | None = None,
) -> dict[str, Group]:
    """The groups of these kinds ("memory") and groups ("memory/sizes"), in which only the questions
    are left that have one of these texts in their names; all if there are none. `part` (2, 8) leaves
    one of eight parts of the questions, and none of groups that need the device for themselves.

    Raises:
        ValueError: There is no such kind or group.
    """
    for word in only:
        if not any(word in (group.kind, group.path) for group in groups.values()):
            known = ", ".join(sorted({group.kind for group in groups.values()}))
            raise ValueError(
                f"no kind and no group of questions is called {word!r}; kinds: {known}"
            )

    def fits(one: Question) -> bool:
        if part is not None and zlib.crc32(one.name.encode()) % part[1] != part[0]:
            return False
        return not names or any(text in one.name for text in names)

    result = {}
    for path, group in groups.items():
        if only and group.kind not in only and path not in only:
            continue
        if part is not None and group.exclusive:
            continue
        result[path] = replace(
            group,
            listed=[one for one in group.listed if fits(one)],
            generators=[_filtered(generator, fits) for generator in group.generators],
        )
    return result


def _filtered(
    generator: Callable[[], Iterable[Question]], fits: Callable[[Question], bool]
) -> Callable[[], Iterator[Question]]:
    return lambda: (one for one in generator() if fits(one))
