"""The layers of src/: who depends on whom, read from the CMakeLists.txt files and from #include lines.

Nothing has to be configured or built. What a CMakeLists.txt names counts as a dependency, whichever
command names it, so that a folder has rather too many dependencies than too few.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

CPP = (".h", ".cpp", ".cu", ".cuh", ".c", ".inc")
COMMENT = re.compile(r"#[^\n]*")
LAYER = re.compile(r"torchport_add_(?:torch_)?layer\(\s*(\w+)")
TORCH_LAYER = re.compile(r"torchport_add_torch_layer\(")
TARGET = re.compile(r"(?:add_library|add_executable|torchport_add_rules)\(\s*(torchport_\w+)")
NAMED_TEST = re.compile(r"torchport_add_(?:torch_layer_)?test\(\s*(\w+)|add_test\(NAME\s+(\w+)")
WORD = re.compile(r"\btorchport_\w+\b(?!\s*\()")
FILE = re.compile(r"[\w./-]*\w\.\w+")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
THREADS = re.compile(r"\bTHREADS\b|torchport_test_threads|torchport_add_torch_layer")
# Words of code that threads could share; a file without them cannot race.
SHARED = re.compile(
    r"\b(thread|mutex|atomic|thread_local|mutable|call_once|const_cast|condition_variable|future)\b|"
    r"\bstatic\b(?!\s+(?:const|constexpr)\b)"
)


@dataclass
class Layer:
    """A folder with a CMakeLists.txt."""

    folder: str
    cmake: str
    tests: set[str] = field(default_factory=set)
    depends: set[str] = field(default_factory=set)

    @property
    def has_threads(self) -> bool:
        return bool(THREADS.search(self.cmake))


def closure(names: Iterable[str], edges: dict[str, set[str]]) -> dict[str, str]:
    """What can be reached, and from which of `names` first."""
    reached: dict[str, str] = {}
    for name in sorted(names):
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one not in reached:
                reached[one] = name
                waiting += edges.get(one, ())
    return reached


class Layers:
    """The layers of a tree, of which `files` are all paths."""

    def __init__(self, root: Path, files: Iterable[str]):
        self.root, self.files = root, sorted(files)
        self.known = set(self.files)
        self.layers = {
            path.rpartition("/")[0]: Layer(path.rpartition("/")[0], self.cmake(path))
            for path in self.files
            if path.startswith("src/") and path.endswith("/CMakeLists.txt")
        }
        for layer in self.layers.values():
            layer.tests = self.tests_of(layer)
        self.tests_as_text: dict[str, str] = {}
        self.owner: dict[str, str] = {}  # the layer of each target
        self.connect()

    def text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def cmake(self, path: str) -> str:
        return COMMENT.sub("", self.text(path))

    def layer_of(self, path: str) -> str | None:
        """The folder of the layer that a file of src/ belongs to."""
        while "/" in path:
            path = path.rpartition("/")[0]
            if path in self.layers:
                return path
        return None

    def tests_of(self, layer: Layer) -> set[str]:
        """The programs of its unit tests."""
        found = {a or b for a, b in NAMED_TEST.findall(layer.cmake)}
        found = {name if name.endswith("_test") else f"{name}_test" for name in found}
        has_own = any(
            p.endswith("_test.cpp") and self.layer_of(p) == layer.folder for p in self.files
        )
        return found | {f"{name}_test" for name in LAYER.findall(layer.cmake) if has_own}

    def named_in(self, cmake: str) -> set[str]:
        """The layers whose targets a text names."""
        return {self.owner[word] for word in WORD.findall(cmake) if word in self.owner}

    def connect(self) -> None:
        """Finds who depends on whom."""
        owner = self.owner
        parts = set()
        for layer in self.layers.values():
            names = TARGET.findall(layer.cmake)
            names += [f"torchport_{name}" for name in LAYER.findall(layer.cmake)]
            owner.update(dict.fromkeys(names, layer.folder))
            if TORCH_LAYER.search(layer.cmake):
                parts.add(layer.folder)
        for layer in self.layers.values():
            named = self.named_in(layer.cmake)
            if "TORCHPORT_LIBRARY_PARTS" in layer.cmake and "get_property" in layer.cmake:
                named |= parts
            layer.depends |= named - {layer.folder}
        for path in self.files:
            folder = self.layer_of(path) if path.endswith(CPP) else None
            if folder is not None:
                included = {self.layer_of(other) for other in self.includes.get(path, ())}
                self.layers[folder].depends |= {one for one in included if one} - {folder}

    @cached_property
    def includes(self) -> dict[str, set[str]]:
        """The files of the project that each file includes."""
        found = {}
        for path in self.files:
            if path.endswith(CPP) and path.startswith(
                ("src/", "fuzz/", "bench/", "include/", "tests/")
            ):
                folder = path.rpartition("/")[0]
                places = ("src/", "include/", f"{folder}/", "", "src/cuda/toolkit/include/")
                found[path] = {
                    place + name
                    for name in INCLUDE.findall(self.text(path))
                    for place in places
                    if place + name in self.known
                }
        return found

    @cached_property
    def dependents(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for layer in self.layers.values():
            for name in layer.depends:
                found.setdefault(name, set()).add(layer.folder)
        return found

    def above(self, folders: Iterable[str]) -> dict[str, str]:
        """These layers and all that are built on them, each with the one it is built on."""
        return closure(folders, self.dependents)

    def readers_of(self, path: str) -> set[str]:
        """The layers whose CMakeLists.txt names a file of elsewhere by its name, or the folder of tests/
        that it is in."""
        folder, _, name = path.rpartition("/")
        return {
            layer.folder
            for layer in self.layers.values()
            if name in {word.rpartition("/")[2] for word in FILE.findall(layer.cmake)}
            or (folder.startswith("tests/") and f"{folder}/" in layer.cmake)
        }

    def with_tests_that_name(self, path: str) -> set[str]:
        """The layers with a unit test that names a file of elsewhere."""
        if not self.tests_as_text:
            for test in (p for p in self.files if p.startswith("src/") and p.endswith("_test.cpp")):
                folder = self.layer_of(test) or ""
                self.tests_as_text[folder] = self.tests_as_text.get(folder, "") + self.text(test)
        return {folder for folder, text in self.tests_as_text.items() if path in text}

    def sources_to_check(self, paths: Iterable[str]) -> list[str]:
        """The sources that are changed, or that include, directly or not, what is."""
        used_by: dict[str, set[str]] = {}
        for path, included in self.includes.items():
            for one in included:
                used_by.setdefault(one, set()).add(path)
        return sorted(p for p in closure(paths, used_by) if p.endswith(".cpp") and p in self.known)

    def may_race(self, path: str) -> bool:
        """Whether a changed file is one of a layer with threads, or has what threads could share."""
        if not path.endswith((*CPP, ".txt", ".cmake", ".py")):  # pages and tables
            return False
        folder = self.layer_of(path)
        if folder is None or not path.endswith(CPP) or self.layers[folder].has_threads:
            return True
        return path in self.known and bool(SHARED.search(self.text(path)))
