"""Tests the points that others published, and how they are compared."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import compare_published  # noqa: E402
from compare_others import Answer, details, table  # noqa: E402

TOLD = tomllib.loads((HERE / "published.toml").read_text())


@pytest.mark.parametrize("point", TOLD["points"], ids=lambda one: one["arguments"] or "default")
def test_a_point_names_its_program_and_source(point: dict) -> None:
    source = TOLD["sources"][point["source"]]
    text = (HERE / "programs" / point["program"]).read_text()
    assert source["figure"] in compare_published.FIGURES
    assert source["unit"] in compare_published.UNITS
    assert all(word in text for word in point["arguments"].split() if word.startswith("--"))


def test_a_process_is_compared_with_an_interval() -> None:
    source = {"unit": "MiB", "figure": "process", "device": "a card"}
    point = {"program": "p.py", "arguments": "", "measured": 1650}
    parts = [{"least": 600 << 20, "most": 700 << 20}, {"least": 0, "most": 62 << 20}]
    plan = {"allocated": 0, "reserved": 1000 << 20, "parts": parts}
    assert compare_published.compared(point, source, plan)[1] == 0.0
    below = compare_published.compared(point | {"measured": 2000}, source, plan)[1]
    assert below == pytest.approx(1762 / 2000 - 1)


def test_a_process_is_compared_with_the_context_of_its_source() -> None:
    source = {"unit": "MiB", "figure": "process", "device": "a card", "context": 1341}
    point = {"program": "p.py", "arguments": "", "measured": 2341}
    plan = {"allocated": 0, "reserved": 1000 << 20}
    assert compare_published.compared(point, source, plan)[1] == 0.0


def test_reserved_memory_is_compared_in_its_unit() -> None:
    source = {"unit": "GB", "figure": "reserved", "device": "a card"}
    point = {"program": "p.py", "arguments": "", "measured": 2}
    line, error = compare_published.compared(point, source, {"allocated": 0, "reserved": 10**9})
    assert error == -0.5 and "| 2.0 GB | 1.0 |" in line


def test_a_plan_that_failed_has_no_error() -> None:
    source, point = TOLD["sources"]["fakegpu"], TOLD["points"][0]
    line, error = compare_published.compared(point, source, "no such package")
    assert error is None
    assert "no such package" in line


def test_tools_without_an_answer_keep_their_column() -> None:
    answers = [
        Answer("a", "one", 1 << 20, 1 << 20, 2.0, ""),
        Answer("b", "two", 1 << 20, None, 3.0, "failed"),
    ]
    assert "| one | 1 | +0.0 % |  |" in details(answers)
    assert "| two | 1 |  | none |" in details(answers)
    assert "| b | 1 | 0 |" in table(answers)
