"""Copies of a package, as it is and after fixes, and how each of its files is imported."""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

TORCHPORT = Path(os.environ.get("TORCHPORT_BINARY", Path(sys.executable).parent / "torchport"))
FIX = ["fix", "--no-gitignore", "--no-cache", "--extend-select", "hygiene"]
TAKEN = {"torch", "numpy", "jax"} | sys.stdlib_module_names
# The copies that are compared with the package as it is.
VARIANTS: dict[str, list[str]] = {
    "safe": [],
    "unsafe": ["--unsafe-fixes"],
}


@dataclass(frozen=True, order=True)
class Module:
    """A file and how Python finds it."""

    file: str  # below the tree
    name: str
    paths: tuple[str, ...]  # below the tree, in the order of sys.path


def distribution_root(tree: Path) -> Path:
    """The folder with setup.py: the first one that is not just a wrapper of another folder."""
    while True:
        entries = list(tree.iterdir())
        folders = [entry for entry in entries if entry.is_dir()]
        if len(folders) != 1 or len(entries) != 1 or (folders[0] / "__init__.py").exists():
            return tree
        tree = folders[0]


def module_of(tree: Path, root: Path, file: Path) -> Module:
    """A file of a package belongs to the outermost package; any other one is a script."""
    folders = [folder for folder in file.parents if root in folder.parents]
    packages = [folder for folder in folders if (folder / "__init__.py").exists()]
    home = packages[-1].parent if packages else file.parent
    if packages and packages[-1].name in TAKEN and home != root:
        home = home.parent  # a package without __init__.py, such as texar/torch
    parts = file.relative_to(home).with_suffix("").parts
    if parts[-1] == "__init__" and len(parts) > 1:
        parts = parts[:-1]
    heads = dict.fromkeys([home, root, *([root / "src"] if (root / "src").is_dir() else [])])
    paths = tuple(str(head.relative_to(tree)) for head in heads)
    return Module(str(file.relative_to(tree)), ".".join(parts), paths)


def modules_of(tree: Path) -> list[Module]:
    """Every module of a tree; packages come first, because they import most of their modules."""
    root = distribution_root(tree)
    files = [file for file in tree.rglob("*.py") if file.is_file() and file.name != "setup.py"]
    found = [module_of(tree, root, file) for file in files]
    return sorted(found, key=lambda m: (m.file.count("/"), not m.file.endswith("__init__.py"), m))


def changed_files(before: Path, after: Path) -> list[str]:
    """The Python files that differ, and those that only `after` has; paths below the tree."""
    changed = []
    for path in sorted(after.rglob("*.py")):
        name = path.relative_to(after)
        old = before / name
        if path.is_file() and not (old.is_file() and old.read_bytes() == path.read_bytes()):
            changed.append(str(name))
    return changed


def hunks(before: Path, after: Path, file: str) -> str:
    """What a fix did to a file, as a patch without context."""
    old, new = (
        path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
        for path in (before / file, after / file)
    )
    return "\n".join(difflib.unified_diff(old, new, file, file, lineterm="", n=1))


def fix(folder: Path, flags: list[str]) -> None:
    run = subprocess.run(
        [TORCHPORT, *FIX, *flags, "."],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if run.returncode not in (0, 1):
        raise RuntimeError(f"torchport fix ended with {run.returncode}: {run.stderr[-2000:]}")


def copy(package: Path, into: Path) -> None:
    shutil.copytree(package, into, ignore=shutil.ignore_patterns("__pycache__", ".git"))


def make_trees(package: Path, into: Path) -> dict[str, Path]:
    """Copies a package as "before" and once for each variant, and fixes the variants."""
    trees = {}
    for name in ("before", *VARIANTS):
        trees[name] = into / name
        copy(package, trees[name])
    for name, flags in VARIANTS.items():
        fix(trees[name], flags)
    return trees
