"""Each recorded program prints on a virtual device what it printed on the real one."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import recorded

KNOWN = tomllib.loads((Path(__file__).parent / "differences.toml").read_text())
ANSWERS = {
    title: answer
    for _, title, answer in recorded.answers()
    if title.split(" ")[0] not in KNOWN["not_yet"]
}


def may_differ(title: str) -> set[str] | None:
    """The lines of a program that differ; None: any."""
    lines: set[str] = set()
    for entry in KNOWN["different"]:
        if title in entry["programs"]:
            if entry["lines"] == "all":
                return None
            lines.update(entry["lines"])
    return lines


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.mark.parametrize("title", list(ANSWERS))
def test_prints_what_the_gpu_printed(title: str, folder: Path) -> None:
    different: dict[str, Any] = {
        name: (real, virtual)
        for name, real, virtual in recorded.differences(title, ANSWERS[title], folder)
    }
    known = may_differ(title)
    if known is None:
        assert different, "all lines agree: the program must leave differences.toml"
        return
    assert {n: both for n, both in different.items() if n not in known} == {}
    assert sorted(known - set(different)) == [], "these agree and must leave differences.toml"


def test_differences_name_recorded_lines() -> None:
    for entry in KNOWN["different"]:
        for title in entry["programs"]:
            lines = [] if entry["lines"] == "all" else entry["lines"]
            assert set(lines) <= set(ANSWERS[title]), title
