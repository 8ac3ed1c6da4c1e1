"""tests/README.md names every folder and every mark, and its commands are there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "tests" / "README.md").read_text()


def test_every_folder_has_its_line() -> None:
    folders = {
        path.parent.relative_to(ROOT / "tests").parts[0]
        for path in (ROOT / "tests").glob("*/**/*.py")
    }
    rows = re.findall(r"^\| `(\w+)` \|", TEXT.partition("## Marks")[0], re.M)
    assert rows == sorted(folders)


def test_every_mark_has_its_line() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    marks = {re.split(r"\W", line)[0] for line in settings["markers"]} | {"devices"}
    table = TEXT.partition("## Marks")[2].partition("## What")[0]
    assert set(re.findall(r"^\| `(\w+)", table, re.M)) >= marks


def test_its_commands_and_files_are_there() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    for target in re.findall(r"\bmake ([a-z][a-z-]*)", TEXT):
        assert target in targets, target
    for path in re.findall(r"\b(?:tests|src)/[\w/]+\.(?:py|cpp)", TEXT):
        assert (ROOT / path).exists(), path
    for path in re.findall(r"`(plugins/\w+\.py|\w+\.json)`", TEXT):
        assert (ROOT / "tests" / path).exists(), path
