#!/usr/bin/env python3
"""What pyflakes says about fixed files and did not say before: undefined names, unused imports.

    fixed_names.py FOLDER...     fixes a copy of each package and prints what is new

Names that a fix leaves behind or uses without binding are what a maintainer sees first, and a file
that compiles may have both.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TORCHPORT = Path(os.environ.get("TORCHPORT_BINARY", Path(sys.executable).parent / "torchport"))
LINTERS = Path(os.environ.get("TORCHPORT_LINTERS", ROOT / "build" / "linters" / "bin" / "python"))
FIX = ["fix", "--unsafe-fixes", "--no-gitignore", "--no-cache", "--extend-select", "hygiene", "."]

# "a.py:3:1: 'os' imported but unused"; what follows "from line" moves with every edit.
LINE = re.compile(r"^(?P<path>.+?):\d+:\d*:? (?P<text>.*)$")


def error_of(path: Path) -> str | None:
    """Why Python cannot compile a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in old code
        try:
            compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            return str(error)
    return None


def complaints(folder: Path, files: Sequence[Path]) -> dict[Path, Counter[str]]:
    """What pyflakes says about each file, without lines."""
    found: dict[Path, Counter[str]] = {path: Counter() for path in files}
    if not files:
        return found
    run = subprocess.run(
        [LINTERS, "-m", "pyflakes", *files],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert "No module named" not in run.stderr, run.stderr
    for line in run.stdout.splitlines():
        match = LINE.match(line)
        if match and Path(match["path"]) in found:
            text = re.sub(r" (from|on) line \d+|line \d+", "", match["text"])
            found[Path(match["path"])][text] += 1
    return found


def is_wholly_imported(package: Path, path: Path) -> bool:
    """Whether another file has `from MODULE import *`, and so may hand on what the file imports."""
    star = re.compile(rf"from\s+[\w.]*\b{re.escape(path.stem)}\s+import\s+\*".encode())
    return any(star.search(other.read_bytes()) for other in package.rglob("*.py"))


def complaints_of_fix(before: Path, after: Path) -> list[str]:
    """What is wrong with the files of a fixed tree and was not before."""
    changed = [
        path.relative_to(before)
        for path in sorted(before.rglob("*.py"))
        if path.is_file()
        and path.read_bytes() != (after / path.relative_to(before)).read_bytes()
        and error_of(path) is None
    ]
    wrong = []
    for path in changed:
        if error := error_of(after / path):
            wrong.append(f"{path}: does not compile: {error}")
    said, says = complaints(before, changed), complaints(after, changed)
    for path in changed:
        for text, count in (says[path] - said[path]).items():
            if "imported but unused" in text and is_wholly_imported(before, path):
                continue
            wrong.append(f"{path}: {text}" + (f" ({count} times)" if count > 1 else ""))
    return wrong


def new_complaints(package: Path, scratch: Path) -> list[str]:
    """Fixes a copy of a package; returns what is wrong with its files and was not before."""
    before, after = scratch / "before", scratch / "after"
    shutil.copytree(package, before)
    shutil.copytree(package, after)
    run = subprocess.run(
        [TORCHPORT, *FIX], cwd=after, capture_output=True, text=True, timeout=600, check=False
    )
    assert run.returncode in (0, 1), run.stderr
    return complaints_of_fix(before, after)


def main(folders: list[str]) -> int:
    status = 0
    for folder in map(Path, folders):
        with tempfile.TemporaryDirectory() as scratch:
            wrong = new_complaints(folder.resolve(), Path(scratch))
        for line in wrong:
            print(f"{folder.name}/{line}")
        status |= bool(wrong)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
