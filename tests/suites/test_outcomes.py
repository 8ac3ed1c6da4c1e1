"""What the runs of a suite say is counted as it is meant."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
import suite_page
from suite_outcomes import Comparison, Known, Outcome, compare, read_junit

JUNIT = """<testsuites><testsuite>
<testcase classname="a" name="passes"><properties><property name="device" value="cuda"/></properties></testcase>
<testcase classname="a" name="skipped"><skipped type="pytest.skip" message="no CUDA"/></testcase>
<testcase classname="a" name="expected"><skipped type="pytest.xfail" message="known"/></testcase>
<testcase classname="a" name="fails"><failure message="boom">at line 3</failure></testcase>
<testcase classname="a" name="torn"/>
<testcase classname="a" name="torn"><error message="in its teardown"/></testcase>
<testcase name="a.unreadable"><error message="collection failure"/></testcase>
</testsuite></testsuites>"""


def test_a_junit_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a.xml"
    file.write_text(JUNIT)
    found = read_junit(file)
    assert {name: outcome.state for name, outcome in found.items()} == {
        "a::passes": "passed",
        "a::skipped": "skipped",
        "a::expected": "passed",
        "a::fails": "failed",
        "a::torn": "failed",
        "a.unreadable": "failed",
    }
    assert found["a::fails"].message == "boom\nat line 3"
    assert [name for name, outcome in found.items() if outcome.on_device] == ["a::passes"]


def sides(pairs: dict[str, tuple[str | None, str | None]]) -> list[dict[str, Outcome]]:
    return [
        {name: Outcome(pair[side], "boom") for name, pair in pairs.items() if pair[side]}
        for side in (0, 1)
    ]


def found(known: list[Known]) -> Comparison:
    pairs: dict[str, tuple[str | None, str | None]] = {
        "same": ("passed", "passed"),
        "gained": ("skipped", "passed"),
        "made": (None, "passed"),
        "hopeless": ("failed", "failed"),
        "needs": ("failed", "passed"),
        "gained_bad": ("skipped", "failed"),
        "broken": ("passed", "failed"),
        "lost": ("passed", "skipped"),
        "gone": ("passed", None),
        "never": ("skipped", "skipped"),
    }
    return compare("s", *sides(pairs), known)


def test_two_runs_are_compared() -> None:
    result = found([])
    assert (result.tests, result.skipped, result.still_skipped, result.fail_in_both) == (
        10,
        4,
        1,
        1,
    )
    assert (result.now_passed, result.now_failed) == (["gained", "made"], ["gained_bad"])
    assert (result.mended, result.broken, result.lost) == (["needs"], ["broken"], ["gone", "lost"])
    assert set(result.unexplained) == {"gained_bad", "broken"}


def test_a_known_cause_explains_what_it_names_and_nothing_else() -> None:
    result = found(
        [
            Known("other", "*", "host", "another suite"),
            Known("s", "broken", "device", "another message", message="bang"),
            Known("s", "gained_*", "torchport", "the cause", message="boom"),
        ]
    )
    assert result.explained == {"the cause": ["gained_bad"]}
    assert result.causes == {"torchport": 1}
    assert set(result.unexplained) == {"broken"}


def test_the_page_keeps_what_stands_around_the_table() -> None:
    text = f"before\n{suite_page.START}\nold\n{suite_page.END}\nafter\n"
    once = suite_page.put_between_marks(text, ["new"])
    assert "old" not in once
    assert once.startswith("before\n") and once.endswith("\nafter\n")
    assert suite_page.put_between_marks(once, ["new"]) == once
    with pytest.raises(ValueError, match="no marks"):
        suite_page.put_between_marks("before", ["new"])


def test_the_tables_add_up() -> None:
    result = asdict(found([Known("s", "*", "host", "the cause")]))
    facts = {"version": "1", "part": "all", "devices": "cuda:1"}
    facts["seconds"] = {"without": 1.0, "with": 2.0}
    entries = [{"name": name, **facts, "found": result} for name in ("s", "t")]
    rows = suite_page.page(entries)
    assert rows[2] == "| s 1 | 10 | 4 | 3 | 2 | 1 | 1 | 1 | 0 |"
    assert rows[4] == "| all | 20 | 8 | 6 | 4 | 2 | 2 | 2 | 0 |"
    assert "- t, 2: the cause" in rows
    assert suite_page.short(entries)[2:] == [
        "| s | 3 | 2 | 0 | 2 |",
        "| t | 3 | 2 | 0 | 2 |",
        "| all | 6 | 4 | 0 | 4 |",
    ]
