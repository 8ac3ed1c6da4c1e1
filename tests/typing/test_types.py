"""What type checkers see of the package: every public name, with its types."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "python" / "torchport"


def mypy(file: Path, cache: Path) -> subprocess.CompletedProcess:
    # In a folder without the project's own settings: as a user's machine would have it.
    words = ["--strict", "--untyped-calls-exclude=torch", "--cache-dir", cache, file]
    return subprocess.run(
        [sys.executable, "-m", "mypy", *map(str, words)],
        cwd=file.parent,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def exported(module: Path) -> list[str]:
    tree = ast.parse(module.read_text())
    lists = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    return ast.literal_eval(lists[0])


@pytest.mark.long
def test_a_users_program_has_types(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text((HERE / "user_program.py").read_text())
    done = mypy(program, tmp_path / "cache")
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import torchport\n"
        "torchport.no_such_name\n"
        "torchport.device(3.5)\n"
        "torchport.loader([1], depht=2)\n"
        "torchport.choose_device().devise\n"
    )
    done = mypy(wrong, tmp_path / "cache")
    assert [int(n) for n in re.findall(r"^wrong.py:(\d): error", done.stdout, re.MULTILINE)] == [
        2,
        3,
        4,
        5,
    ], done.stdout


def test_the_program_uses_every_public_name() -> None:
    text = (HERE / "user_program.py").read_text()
    for name in exported(PACKAGE / "__init__.py"):
        assert re.search(rf"(torchport\.|import .*){name}\b", text), name
    for name in exported(PACKAGE / "build" / "__init__.py"):
        assert f"build.{name}" in text, name


def test_the_package_says_that_it_has_types() -> None:
    assert (PACKAGE / "py.typed").is_file()
