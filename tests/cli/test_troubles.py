"""docs/troubles.md: every test that it names is there, and its numbers are those of its tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/troubles.md").read_text()
PACKAGE = (ROOT / "python/torchport/__init__.py").read_text()
STATES = ("works", "partly", "not")


class Row(NamedTuple):
    number: int
    told: str
    answer: str
    state: str
    shown: list[str]


def row_of(line: str) -> Row:
    number, told, answer, state, shown = (cell.strip() for cell in line.split("|")[1:-1])
    references = re.findall(r"`([^`]+)`", shown)
    assert shown == ", ".join(f"`{one}`" for one in references), line
    return Row(int(number), told, answer, state, references)


ROWS = [row_of(line) for line in TEXT.splitlines() if re.match(r"\| \d", line)]


def lines_that_hit(page: str) -> set[str]:
    """The lines of the cases on which a rule reports."""
    cases = re.findall(
        r"^```\w+ hit\b[^\n]*\n(.*?)^```$", page.partition("## Cases")[2], re.M | re.S
    )
    return {line.strip() for case in cases for line in case.splitlines()}


def code_of(page: Path) -> str:
    return re.search(r'"(TP\d+)"', (page.parent / "rule.cpp").read_text())[1]


def missing(reference: str) -> str:
    """What there is not of what the page refers to, or nothing."""
    if "::" in reference:
        name, _, title = reference.partition("::")
        pattern = rf"^def {re.escape(title)}\("
    else:
        name, _, title = reference.partition(": ")
        pattern = rf'^TEST_CASE\("{re.escape(title)}"\)'
    path = ROOT / name
    if not path.is_file():
        return f"there is no {name}"
    text = path.read_text()
    there = (
        title in lines_that_hit(text) if path.name == "page.md" else re.search(pattern, text, re.M)
    )
    return "" if there else f"{name} has no {title}"


def test_every_row_has_the_tests_that_its_state_needs() -> None:
    for row in ROWS:
        assert row.state in STATES, row
        assert row.told and row.answer, row
        assert bool(row.shown) == (row.state != "not"), row


def test_every_test_is_there() -> None:
    assert [
        f"{row.number}: {missing(one)}" for row in ROWS for one in row.shown if missing(one)
    ] == []


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("tests/cli/test_nothing.py::test_a", "there is no tests/cli/test_nothing.py"),
        ("tests/cli/test_troubles.py::test_every", "has no test_every"),
        ("src/host/causes/host_test.cpp: each torch", "has no each torch"),
        # The line of a miss, and of a text that was fixed.
        ("src/source/rules/placement/cuda_call/page.md: w.cuda()", "has no w.cuda()"),
        ("src/source/rules/placement/cuda_call/page.md: model = model.to(DEVICE)", "has no model"),
    ],
)
def test_what_is_not_there_is_found(reference: str, said: str) -> None:
    assert said in missing(reference)


def test_the_numbers_are_those_of_the_tables() -> None:
    assert [row.number for row in ROWS] == list(range(1, len(ROWS) + 1))
    (said,) = re.findall(r"The (\d+) items: (\d+) work, (\d+) work partly, (\d+) do not\.", TEXT)
    counts = [sum(row.state == state for row in ROWS) for state in STATES]
    assert [int(number) for number in said] == [len(ROWS), *counts]


def test_a_row_names_the_rule_whose_page_shows_it() -> None:
    for row in ROWS:
        pages = [ROOT / one.partition(": ")[0] for one in row.shown if "/page.md: " in one]
        named = set(re.findall(r"TP\d+", row.answer))
        assert {code_of(page) for page in pages} <= named, row


def test_names_of_rules_and_of_the_package_exist(torchport) -> None:
    codes = set(re.findall(r"TP\d+", torchport("rules").stdout))
    assert set(re.findall(r"TP\d+", TEXT)) <= codes
    names = {name for row in ROWS for name in re.findall(r"torchport\.(\w+)", row.answer)}
    assert len(names) > 10 and [name for name in names if f'"{name}"' not in PACKAGE] == []


def test_commands_exist(torchport) -> None:
    commands = {name for row in ROWS for name in re.findall(r"`torchport ([a-z-]+)", row.answer)}
    listed = torchport("--help").stdout
    assert len(commands) > 5
    assert [name for name in commands if not re.search(rf"^  {name}\b", listed, re.M)] == []
