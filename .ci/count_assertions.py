#!/usr/bin/env python3
"""Counts what the tests assert, so that a change of the tests can state the numbers before and after.

    .ci/count_assertions.py            the files of this folder, new ones included
    .ci/count_assertions.py COMMIT...  those of commits; of several, a column each

A statement counts once, however often a loop or a parameter runs it. The rows:

    unit test cases        TEST_CASE of doctest
    unit assertions        CHECK..., REQUIRE... and FAIL... of doctest
    page cases             code blocks `hit`, `miss` and `fixed` of the rules' pages
    test modules           test_*.py
    test functions         functions `test...` of these modules
    assert statements      in all Python of tests/, the programs that tests start included
    other assertions       pytest.raises, .warns and .fail, and calls of a name with `assert_`
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tests", "cmake")
CASE = re.compile(r"\bTEST_CASE(?:_\w+)?\s*\(")
CHECK = re.compile(r"\b(?:CHECK|REQUIRE|FAIL)(?:_[A-Z_]+)?\s*\(")
BLOCK = re.compile(r"^```\w+ (?:hit|miss|fixed)\b", re.M)
PYTEST = {"raises", "warns", "fail", "deprecated_call"}
ROWS = ("unit test cases", "unit assertions", "page cases", "test modules", "test functions")
ROWS += ("assert statements", "other assertions")


def name_of(call: ast.Call) -> str:
    """`pytest.raises` of pytest.raises(...), `assert_close` of torch.testing.assert_close(...)."""
    function = call.func
    if isinstance(function, ast.Name):
        return function.id
    if not isinstance(function, ast.Attribute):
        return ""
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    return f"pytest.{function.attr}" if owner == "pytest" else function.attr


def of_python(path: str, text: str) -> Counter[str]:
    found: Counter[str] = Counter()
    is_module = Path(path).name.startswith("test_")
    found["test modules"] += is_module
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a program that is meant to be broken
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            found["assert statements"] += 1
        elif isinstance(node, ast.Call):
            name = name_of(node)
            is_other = name.startswith("assert_") or name.removeprefix("pytest.") in PYTEST
            if is_other and name != "assert_type" and (name.startswith(("pytest.", "assert_"))):
                found["other assertions"] += 1
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found["test functions"] += is_module and node.name.startswith("test")
    return found


def count(files: Iterable[tuple[str, str]]) -> Counter[str]:
    """The numbers of all files, given as paths and texts."""
    found: Counter[str] = Counter()
    for path, text in files:
        if path.endswith(".py") and path.startswith("tests/"):
            found += of_python(path, text)
        elif path.endswith("_test.cpp"):
            found["unit test cases"] += len(CASE.findall(text))
            found["unit assertions"] += len(CHECK.findall(text))
        elif path.startswith("src/source/rules/") and path.endswith("/page.md"):
            found["page cases"] += len(BLOCK.findall(text))
    return found


def of_folder(root: Path) -> Iterator[tuple[str, str]]:
    words = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run([*words, *FOLDERS], capture_output=True, text=True, check=True)
    for path in sorted(set(done.stdout.split("\0"))):
        if path and (root / path).is_file():
            yield path, (root / path).read_text(encoding="utf-8", errors="replace")


def of_commit(root: Path, commit: str) -> Iterator[tuple[str, str]]:
    words = ["git", "-C", root, "archive", "--format=tar", commit, *FOLDERS]
    archive = subprocess.run(words, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if member.isfile() and (file := tar.extractfile(member)) is not None:
                yield member.name, file.read().decode(errors="replace")


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("commits", nargs="*", metavar="COMMIT")
    options = parser.parse_args(words)
    heads = options.commits or ["here"]
    columns = [count(of_commit(ROOT, c)) for c in options.commits] or [count(of_folder(ROOT))]
    print(f"{'':20}" + "".join(f"{head[:12]:>14}" for head in heads))
    for row in ROWS:
        print(f"{row:20}" + "".join(f"{column[row]:>14}" for column in columns))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
