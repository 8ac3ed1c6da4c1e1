"""Models, inputs and moments that were not thought of: an answer, or the program's own error."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    "name",
    ["attributes_that_raise", "circles", "a_great_many_tensors", "an_empty_batch", "fake_tensors"],
)
def test_verified_all_the_same(hostile, name) -> None:
    assert "raised" not in hostile[name], hostile[name]
    assert hostile[name]["ok"], hostile[name]["findings"]


def test_large_attributes_are_not_walked_to_their_end(hostile) -> None:
    assert hostile["a_whole_data_set"]["ok"] and hostile["a_whole_data_set"]["quick"]


def test_deep_inputs_and_no_inputs(hostile) -> None:
    assert hostile["a_deep_input"]["operators"] == 1
    nothing = hostile["nothing_at_all"]
    assert not nothing["ok"]
    assert "nothing-ran" in {finding["code"] for finding in nothing["findings"]}


def test_names_are_no_markup_and_no_terminal_codes(hostile) -> None:
    told = hostile["names_that_are_markup"]
    assert told["scripts"] == 0 and told["ok"]
    assert "\x1b" not in told["text"]


def test_threads_and_processes(hostile) -> None:
    threads = hostile["threads_with_a_run_of_their_own"]
    assert threads == {"reads": ["aten::item"], "start": "threading"}
    forked = hostile["a_process_forked_within"]
    assert forked == {"output": [5.0, 5.0], "operators": 1}
    workers = hostile["workers_of_a_loader"]
    assert "raised" not in workers, workers
    assert [t["count"] for t in workers["transfers"] if t["kind"] == "to device"] == [2]


def test_it_ends_whatever_is_raised(hostile) -> None:
    assert hostile["interrupted_and_again"] == {"ok": True, "operators": 1, "kept": True}
    assert hostile["many_runs"] == {"counts": [1]}
    assert hostile["tensors_are_let_go"] == {"mixed": True, "gone": True}


def test_a_program_without_its_source(hostile) -> None:
    mixed = hostile["source_that_is_gone"]["mixed"]
    assert mixed["line"]["line"] == 3 and mixed["line"]["text"] == ""
    assert mixed["fixed_line"] == "" and mixed["fix"]
