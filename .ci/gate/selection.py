"""From the paths that differ to what of the gate they can affect, with a reason for each part."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from gate.changes import Changes
from gate.driven import ALWAYS
from gate.layers import CPP, Layers
from gate.modules import Modules
from gate.parts import FACADE, READS_LAYERS, TOP, Parts, part_of

# The gate, the build and what they fetch: a change there can affect anything.
WHOLE = (
    ".ci/",
    "cmake/",
    "deps/",
    "Makefile",
    "CMakeLists.txt",
    "CMakePresets.json",
    "pyproject.toml",
)
WHOLE += (".clang-tidy", ".clang-format", "src/portable/", "tests/conftest.py", "tests/plugins/")
# Files that only those who name them read.
NAMED = ("docs/", "examples/", "bench/", "fuzz/", "editors/", "packaging/")
NAMED += ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "action.yml")
NAMED += (".pre-commit-hooks.yaml", ".editorconfig", ".gitignore", "tests/README.md")
DURATIONS = "tests/durations.json"


@dataclass
class Selection:
    """What runs. `everything` is the reason why all of it does, or nothing."""

    everything: str = ""
    layers: dict[str, str] = field(default_factory=dict)  # the folder of each layer, and why
    tested: set[str] = field(default_factory=set)  # layers of which only unit tests are changed
    parts: dict[str, str] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)  # what clang-tidy reads
    racing: list[str] = field(default_factory=list)  # changed files that ThreadSanitizer has to see
    paths: list[str] = field(default_factory=list)

    def has(self, *ends: str) -> bool:
        return any(path.endswith(ends) for path in self.paths)

    def below(self, *folders: str) -> bool:
        return any(path.startswith(folders) for path in self.paths)


class Tree:
    """The files of a checkout."""

    def __init__(self, root: Path, files: Iterable[str]):
        self.root, self.files = root, sorted(files)
        self.layers = Layers(root, self.files)
        self.parts = Parts(root, self.files)
        self.modules = Modules(root, self.files, self.parts)

    def layer_tests(self, folders: Iterable[str]) -> set[str]:
        return set().union(
            *(self.layers.layers[f].tests for f in folders if f in self.layers.layers)
        )

    def fuzzed_layers(self) -> set[str]:
        """The layers that fuzz/ links; what they are built on affects them, too."""
        path = "fuzz/CMakeLists.txt"
        return self.layers.named_in(self.layers.cmake(path)) if path in self.files else set()

    def torch_layers(self) -> set[str]:
        """Layers that see include/torchport."""
        return {
            f
            for f in self.layers.layers
            if f.startswith(("src/runtime", "src/bindings", "src/package"))
        }


def whole_because(path: str, tree: Tree) -> str:
    """Why the whole gate runs for a path, or nothing."""
    if path.startswith(WHOLE):
        return f"{path} is of the gate, the build or what all tests share"
    if path.startswith("src/") and tree.layers.layer_of(path) is None:
        return f"{path} is in no layer"
    if path.startswith(("src/", "include/", "tests/", TOP, *NAMED)):
        return ""
    return f"nobody knows what {path} affects"


def select(tree: Tree, changes: Changes) -> Selection:
    """What the changes can affect."""
    if changes.unknown:
        return Selection(everything=changes.unknown)
    found = Selection(paths=changes.paths)
    for path in changes.paths:
        found.everything = found.everything or whole_because(path, tree)
    if found.everything:
        return found
    layers, found.tested, parts = changed_layers_and_parts(tree, changes.paths)
    found.layers = {
        folder: "it is changed" if folder == lowest else f"it is built on {lowest}"
        for folder, lowest in tree.layers.above(layers).items()
    }
    for part, folders in READS_LAYERS.items():
        if part in tree.parts.names and any(folder in found.layers for folder in folders):
            parts.add(part)
    found.parts = {
        part: "it is changed" if part == lowest else f"it uses {lowest}"
        for part, lowest in tree.parts.above(parts).items()
    }
    found.modules = modules(tree, found, program_changed="src/cli" in layers)
    found.sources = tree.layers.sources_to_check(p for p in changes.paths if p.endswith(CPP))
    found.racing = [
        p for p in changes.paths if p.startswith(("src/", "include/")) and races(tree, p)
    ]
    return found


def races(tree: Tree, path: str) -> bool:
    return path.startswith("include/") or tree.layers.may_race(path)


def changed_layers_and_parts(
    tree: Tree, paths: Iterable[str]
) -> tuple[set[str], set[str], set[str]]:
    """The layers that are changed, those of which unit tests are, and the parts of the package."""
    layers: set[str] = set()
    tested: set[str] = set()
    parts: set[str] = set()
    for path in paths:
        if path.startswith("src/"):
            (tested if path.endswith("_test.cpp") else layers).update(layers_at(tree, path))
        elif path.startswith("include/"):
            layers |= tree.torch_layers()
        elif path.startswith(TOP):
            layers |= tree.layers.readers_of(path)
            parts |= tree.parts.names if part_of(path) == FACADE else {part_of(path)}
        else:  # no library contains it
            tested |= tree.layers.readers_of(path) | tree.layers.with_tests_that_name(path)
    return layers, tested, parts


def layers_at(tree: Tree, path: str) -> set[str]:
    """The layer of a file of src/. What a CMakeLists.txt says may hold for the folders below, too."""
    found = {tree.layers.layer_of(path) or ""}
    if path.endswith("/CMakeLists.txt"):
        folder = path.removesuffix("CMakeLists.txt")
        found |= {layer for layer in tree.layers.layers if layer.startswith(folder)}
    return found


def modules(tree: Tree, found: Selection, program_changed: bool) -> dict[str, str]:
    """The test modules to run, each with the reason."""
    selected: dict[str, str] = {}
    for path in found.paths:
        if path == DURATIONS:
            continue
        if path.endswith("_test.cpp"):
            continue
        if path.startswith("tests/") and path not in NAMED:
            selected |= tree.modules.needing(path)
        else:
            selected |= tree.modules.mentioning(path)
    for module in tree.modules.modules:
        drives = tree.modules.drives(module)
        layer = next((f for f in found.layers if f.startswith(drives.layers or ("-",))), None)
        part = next((p for p in found.parts if p in drives.parts or "*" in drives.parts), None)
        if module.startswith(ALWAYS):
            selected.setdefault(module, "it always runs")
        elif program_changed:
            selected.setdefault(module, "it may start the program, and src/cli is changed")
        elif layer:
            selected.setdefault(module, f"it drives {layer}: {found.layers[layer]}")
        elif part:
            selected.setdefault(module, f"it drives {TOP}{part}: {found.parts[part]}")
    return {path: selected[path] for path in sorted(selected) if path in tree.modules.modules}
