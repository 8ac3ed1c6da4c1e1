"""Whether what could be imported and scripted before fixes still can be."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import import_trees
from import_plan import Answer, Plan, Step, request_of, write_files

AFTER_LIMIT_S = 120.0  # longer than before, so that a busy machine breaks nothing
Texts = dict[str, dict[str, str]]  # file: name: text
Ask = Callable[[dict[str, Any]], Answer]


@dataclass
class Break:
    """Something that worked before a fix and does not any more."""

    file: str
    what: str
    place: str = ""  # the line that raised the error


@dataclass
class Comparison:
    """What became of the modules of a plan in a fixed tree."""

    changed: set[str]
    imported: set[str] = field(default_factory=set)  # changed files
    mended: set[str] = field(default_factory=set)  # those that could not be imported before
    scripted_before: int = 0  # functions and classes of changed files
    scripted: int = 0
    users_before: int = 0  # those of other files that hold something of a changed one
    users: int = 0
    dropped_imports: int = 0  # names that a module had only because it imported them
    breaks: list[Break] = field(default_factory=list)


def scripted(answer: Answer) -> Texts:
    """What could be scripted."""
    return {
        file: {name: item["text"] for name, item in items.items() if "text" in item}
        for file, items in answer["scripts"].items()
    }


def first_difference(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return " | ".join(list(lines)[3:9])


class Comparer:
    def __init__(self, ask: Ask, before: Path, after: Path, plan: Plan, changed: set[str]):
        self._ask, self._before, self._after, self._plan = ask, before, after, plan
        self.result = Comparison(changed)

    def _import(self, tree: Path, step: Step, **more: Any) -> Answer:
        request = request_of(tree, step.module, alone=step.alone, patches=step.patches, scripts={})
        request |= {"stubs": sorted(self._plan.stubs), "limit_s": AFTER_LIMIT_S}
        return self._ask(request | more)

    def _is_steady(self, step: Step) -> bool:
        """Whether the module can still be imported before the fix: some depend on time or chance."""
        return "loaded" in self._import(self._before, step)

    def _break(self, file: str, what: str, place: str = "") -> None:
        self.result.breaks.append(Break(file, what, place))

    def compare(self) -> Comparison:
        write_files(self._after, self._plan.files)
        for step in self._plan.steps:
            if step.loaded & self.result.changed:
                self._compare_step(step)
        failed = self.result.changed & set(self._plan.failed)
        self.result.mended = {file for file in sorted(failed) if self._is_mended(file)}
        return self.result

    def _is_mended(self, file: str) -> bool:
        return "loaded" in self._ask(request_of(self._after, self._module(file), scripts={}))

    def _module(self, file: str) -> import_trees.Module:
        root = import_trees.distribution_root(self._after)
        return import_trees.module_of(self._after, root, self._after / file)

    def _compare_step(self, step: Step) -> None:
        before = scripted(step.answer)
        after = self._import(self._after, step, scripts={f: list(n) for f, n in before.items()})
        if "loaded" not in after:
            if self._is_steady(step):
                self._break(step.module.file, f"import: {after['error']}", after["place"])
            return
        self.result.imported |= set(after["loaded"]) & self.result.changed
        for file in sorted(step.loaded - set(after["loaded"])):
            self._add_left_out(step, file, before, after)
        for file, names in step.answer["names"].items():
            self._compare_names(file, names, after["names"].get(file, {}))
        for file, items in before.items():
            self._compare_scripts(file, items, after["scripts"].get(file, {}))

    def _add_left_out(self, step: Step, file: str, before: Texts, after: Answer) -> None:
        """A module that others do not import any more must be importable by itself."""
        own = replace(step, module=self._module(file))
        answer = self._import(self._after, own, scripts={file: list(before.get(file, ()))})
        if "loaded" not in answer:
            self._break(file, f"import: {answer['error']}", answer["place"])
        for part in ("names", "scripts"):
            if file in step.answer[part]:
                after[part] |= answer.get(part, {file: step.answer[part][file]})

    def _compare_names(self, file: str, before: dict[str, str], after: dict[str, str]) -> None:
        for name in sorted(set(before) - set(after)):
            if before[name] == "own":
                self._break(file, f"name: {name} is gone")
            else:
                self.result.dropped_imports += 1

    def _compare_scripts(
        self, file: str, before: dict[str, str], after: dict[str, dict[str, str]]
    ) -> None:
        alike = 0
        for name, text in before.items():
            item = after.get(name, {"error": "it is gone"})
            if "text" not in item:
                self._break(file, f"script: {name}: {item['error']}")
            elif item["text"] != text:
                self._break(file, f"script: {name} differs: {first_difference(text, item['text'])}")
            else:
                alike += 1
        if file in self.result.changed:
            self.result.scripted_before += len(before)
            self.result.scripted += alike
        else:
            self.result.users_before += len(before)
            self.result.users += alike
