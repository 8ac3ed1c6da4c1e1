"""Imports the modules of a package before fixes, and what must come of each after them."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import import_trees
from import_trees import Module

Answer = dict[str, Any]
LIMIT_S = 30.0
ATTEMPTS = 15  # each one adds a name that an installed module lacks


def isolation() -> list[str]:
    """The words before a command that take the network away from it, where the system allows that."""
    for words in (["unshare", "--net"], ["unshare", "--net", "--map-root-user"]):
        with contextlib.suppress(OSError):
            if subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0:
                return words
    return []


class Server:
    """import_server.py, and its folders. Not for several threads at a time."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder = folder
        (folder / "scratch").mkdir(parents=True)
        environment = {
            "PATH": os.defpath,
            "HOME": str(folder / "scratch"),
            "TMPDIR": str(folder / "scratch"),
            "LANG": "C.UTF-8",
            "CUDA_VISIBLE_DEVICES": "",
            "OMP_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONWARNINGS": "ignore",
        }
        self._process = subprocess.Popen(
            [*isolation(), python, str(Path(__file__).with_name("import_server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def ask(self, request: dict[str, Any]) -> Answer:
        scratch = self.folder / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        (scratch / ".config").mkdir(parents=True)
        (scratch / ".cache").mkdir()
        folders = {"scratch": str(scratch), "pycache": str(self.folder / "pycache")}
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(request | folders) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass
class Step:
    """A module that can be imported, and what is needed to import it in the same way again."""

    module: Module
    alone: bool
    patches: list[tuple[str, str]]
    answer: Answer

    @property
    def loaded(self) -> set[str]:
        return set(self.answer["loaded"])


@dataclass
class Plan:
    steps: list[Step] = field(default_factory=list)
    failed: dict[str, Answer] = field(default_factory=dict)  # by file
    imported: set[str] = field(default_factory=set)  # files
    stubs: set[str] = field(default_factory=set)
    files: dict[str, str] = field(default_factory=dict)  # made for lack of the real ones
    looked_at: set[str] = field(default_factory=set)  # files whose names and scripts are known

    def add(self, step: Step) -> None:
        self.steps.append(step)
        self.imported |= step.loaded
        self.stubs |= set(step.answer["stubs"])
        self.looked_at |= set(step.answer["names"])


def request_of(tree: Path, module: Module, **more: Any) -> dict[str, Any]:
    paths = [os.path.normpath(tree / path) for path in module.paths]
    return {
        "root": str(tree),
        "paths": paths,
        "module": module.name,
        "file": module.file,
        "alone": False,
        "patches": [],
        "stubs": None,
        "changed": [],
        "done": [],
        "scripts": None,
        "limit_s": LIMIT_S,
    } | more


def write_files(tree: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = tree / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            data = content.encode()
            path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)


def parents(module: Module) -> set[str]:
    parts = module.name.split(".")
    return {".".join(parts[:count]) for count in range(1, len(parts))}


class Planner:
    def __init__(self, ask: Callable[[dict[str, Any]], Answer], tree: Path, changed: set[str]):
        self._ask = ask
        self._tree = tree
        self._changed = sorted(changed)
        self._patches: list[tuple[str, str]] = []
        self._broken: set[str] = set()  # packages: what is in them is imported alone
        self.plan = Plan()

    def try_to_import(self, module: Module, alone: bool) -> Answer:
        """Imports a module, with stand-ins for names that installed modules do not have any more."""
        patches = list(self._patches)
        for _ in range(ATTEMPTS):
            request = request_of(self._tree, module, alone=alone, patches=patches)
            looked_at = sorted(self.plan.looked_at)
            answer = self._ask(request | {"changed": self._changed, "done": looked_at})
            if self._add_file(answer.get("absent")):
                continue
            missing = tuple(answer.get("missing", ()))
            if not missing or missing in patches:
                break
            patches.append(missing)
        if "loaded" in answer:
            self._patches = patches
            self.plan.add(Step(module, alone, patches, answer))
        return answer

    def _add_file(self, name: str | None) -> bool:
        """Writes a file that the distribution has and the tree does not: only sources are unpacked."""
        if name is None or name in self.plan.files:
            return False
        self.plan.files[name] = "{}" if name.endswith((".json", ".yaml", ".yml")) else "1.0.0\n"
        write_files(self._tree, self.plan.files)
        return True

    def add(self, module: Module) -> None:
        if module.file in self.plan.imported:
            return
        packages = parents(module)
        if not packages & self._broken:
            answer = self.try_to_import(module, alone=False)
        if packages and (packages & self._broken or "loaded" not in answer):
            answer = self.try_to_import(module, alone=True)
        if "loaded" not in answer:
            self.plan.failed[module.file] = answer
            if module.file.endswith("__init__.py"):
                self._broken.add(module.name)


def make_plan(server: Server, tree: Path, changed: set[str]) -> Plan:
    planner = Planner(server.ask, tree, changed)
    for module in import_trees.modules_of(tree):
        planner.add(module)
    return planner.plan
