"""What a run that works shows: copies, reads, modes, graphs, and errors that are none of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

SOURCE = (Path(__file__).parent / "programs/running.py").read_text().splitlines()


def codes(result: dict) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {}
    for finding in result["findings"]:
        found.setdefault(finding["code"], []).append(finding)
    return found


def marked(line: dict) -> str:
    return SOURCE[line["line"] - 1].partition("# ")[2]


def test_a_good_model_is_verified(running) -> None:
    result = running["nothing_to_say"]
    assert result["ok"] and result["findings"] == [] and result["operators"] == 1
    assert result["devices"] == ["cuda:0"]


def test_synchronising_reads_by_line(running) -> None:
    found = {
        (marked(t["line"]), t["op"].removeprefix("aten::").partition(".")[0], t["count"])
        for t in running["reads"]["transfers"]
        if t["kind"] == "read"
    }
    assert found == {
        ("bool", "is_nonzero", 1),
        ("item", "item", 3),
        ("masked", "index", 1),
        ("nonzero", "nonzero", 1),
        ("unsized", "repeat_interleave", 1),
    }
    assert all(
        t["waits"] and t["source"] == "cuda:0"
        for t in running["reads"]["transfers"]
        if t["kind"] == "read"
    )


def test_hidden_copies_by_line(running) -> None:
    found = {
        (marked(t["line"]), t["kind"], t["source"], t["target"], t["bytes"], t["waits"])
        for t in running["copies"]["transfers"]
    }
    assert found == {
        ("to host", "to host", "cuda:0", "cpu", 32, True),
        ("to device", "to device", "cpu", "cuda:0", 32, False),
        ("between", "between devices", "cuda:0", "cuda:1", 32, True),
        ("copy_", "between devices", "cuda:1", "cuda:0", 32, True),
    }
    others = {marked(t["line"]) for t in running["reads"]["transfers"] if t["kind"] != "read"}
    assert others == {"host indices", "made by a copy"}
    assert not running["reads"]["ok"]


def test_modes_and_the_checklist(running) -> None:
    result = running["training_mode"]
    answers = {a["question"]: a for a in result["checklist"]}
    assert [a["status"] for a in result["checklist"]] == [
        "no",
        "yes",
        "no",
        "not applicable",
        "yes",
    ]
    seen = answers["Is the model in evaluation mode?"]["seen"]
    assert "bn (BatchNorm2d)" in seen and "drop (Dropout)" in seen and "conv" not in seen
    assert "4 of 4 operators" in answers["Are gradients off?"]["seen"]
    assert "1 of 1 outputs hold a graph" in answers["Are gradients off?"]["seen"]
    assert {"training-mode", "gradients-on"} <= codes(result).keys()
    evaluated = running["evaluated"]
    assert evaluated["ok"] and all(a["status"] != "no" for a in evaluated["checklist"])
    assert evaluated["training_after"] == [True] * 4, "the modes are put back"
    assert "evaluation-mode" in codes(running["wants_training_has_evaluation"])
    assert "gradients-on" not in codes(running["wants_training_has_evaluation"])


def test_memory_is_the_devices(running) -> None:
    (answer,) = [a for a in running["evaluated"]["checklist"] if "memory" in a["question"]]
    assert "on cuda:0 was" in answer["seen"] and "GiB" in answer["seen"]


def test_graphs_that_are_kept(running) -> None:
    (finding,) = codes(running["keeps_graphs"])["kept-graph"]
    assert "losses[0]" in finding["message"] and "detach()" in finding["fix"]


def test_autocast(running) -> None:
    within = running["autocast_within"]
    assert within["autocast"] == []
    assert sum(m["with_autocast"] for m in within["modules"]) == 1
    assert within["outputs"][0]["dtype"] == "float16"
    assert running["autocast_around"]["autocast"] == ["cuda: bfloat16"]


def test_nan_and_infinity_when_asked(running) -> None:
    found = {f["what"]: f for f in running["not_finite"]["not_finite"]}
    assert marked(found["NaN"]["line"]) == "nan"
    assert found["NaN"]["op"] == "aten::div.Tensor"
    assert found["NaN"]["inputs"] == ["self.linear(x) * 0"] * 2
    assert marked(found["infinity"]["line"]) == "infinity"
    assert found["infinity"]["op"] == "aten::mul.Tensor", "masks of -inf are no finding"
    assert not running["not_finite"]["ok"]
    assert running["not_finite_unasked"]["ok"]


def test_a_model_that_is_spread_on_purpose(running) -> None:
    found = codes(running["spread"])
    assert found.keys() == {"spread-model", "hidden-copy"}
    assert found["spread-model"][0]["severity"] == "note"
    assert running["spread"]["checklist"][1]["status"] == "yes"
    flows = {(f["source"], f["target"], f["device"]) for f in running["spread"]["flows"]}
    assert flows == {("first", "", "cuda:0"), ("", "second", "cuda:1")}


def test_threads_of_the_program_are_watched(running) -> None:
    (read,) = running["threads"]["transfers"]
    assert read["op"] == "aten::item" and running["threads"]["operators"] == 3


@pytest.mark.parametrize(
    "name, operators",
    [("checkpointed", 12), ("tied", 2), ("compiled", 1), ("scripted", 2), ("lazy", 7)],
)
def test_ways_to_run(running, name, operators) -> None:
    assert running[name]["ok"], running[name]["findings"]
    assert running[name]["operators"] == operators


def test_transforms_and_other_layouts_run(running) -> None:
    assert running["transforms"]["operators"] > 0 and running["transforms"]["mixed"] is None
    assert running["layouts"]["ok"]


def test_tied_weights_have_both_names(running) -> None:
    names = {f"{m['name']}.{t['name']}" for m in running["tied"]["modules"] for t in m["tensors"]}
    assert {"embedding.weight", "head.weight"} <= names


def test_the_fix_for_loaders_is_verified(running) -> None:
    assert running["through_our_loader"]["ok"], running["through_our_loader"]
    assert running["through_our_loader"]["devices"] == ["cuda:0"]


def test_a_batch_with_labels(running) -> None:
    result = running["parts_of_a_batch"]
    assert result["ok"] and len(result["inputs"]) == 1
    assert "1 of the 2 parts" in codes(result)["batch"][0]["message"]


@pytest.mark.parametrize(
    "name, kind, text",
    [
        ("raises", "KeyError", "'mine'"),
        ("wrong_shape", "RuntimeError", "mat1 and mat2 shapes cannot be multiplied"),
        ("wrong_index_among_devices", "IndexError", "index 7 is out of bounds"),
        ("no_module", "TypeError", "needs an nn.Module, not function"),
        ("empty_loader", "ValueError", "yields no batch"),
        ("same_device", "RuntimeError", "got x on cuda:0 and y on cpu;"),
    ],
)
def test_other_errors_pass_through(running, name, kind, text) -> None:
    assert running[name]["raised"] == kind and text in running[name]["message"]


def test_the_error_is_the_programs_own_object(running) -> None:
    same = running["raises_the_same_error"]
    assert same["same"] and same["frames"][-1] == "forward"


def test_nothing_is_left_behind(running) -> None:
    assert running["usable_after_errors"] == {"before": 1, "after": 1, "hooks": 0}


def test_on_a_cpu_build(on_the_cpu) -> None:
    reads = on_the_cpu["reads"]
    assert reads["ok"] and reads["device"] == "cpu"
    (finding,) = reads["findings"]
    assert finding["severity"] == "note" and "would wait" in finding["message"]
    assert on_the_cpu["meta"]["mixed"]["pattern"] == "model/input"


def test_the_tree_holds_everything(on_the_cpu) -> None:
    result = on_the_cpu["tree"]
    tensors = {
        (m["name"], t["name"]): (t["kind"], t["dtype"], t["sizes"], t["bytes"])
        for m in result["modules"]
        for t in m["tensors"]
    }
    assert tensors[("first.0", "weight")] == ("parameter", "float32", [8, 4], 128)
    assert tensors[("", "mean")] == ("buffer", "float64", [2], 16)
    assert tensors[("", "table")] == ("stray attribute", "int16", [2, 3], 12)
    modules = {m["name"]: m for m in result["modules"]}
    assert modules["second"]["inputs"][0]["sizes"] == [3, 8]
    assert modules["second"]["outputs"][0]["sizes"] == [3, 2]
    assert modules["first.1"]["operators"] == 1 and modules["first"]["operators"] == 0
    assert result["inputs"][0]["name"] == "x" and result["outputs"][0]["dtype"] == "float64"
    last = result["intermediates"][-1]
    assert (last["op"], last["module"], last["dtype"], last["sizes"]) == (
        "aten::sub.Tensor",
        "",
        "float64",
        [3, 2],
    )
    flows = {(f["source"], f["target"]) for f in result["flows"]}
    assert flows == {("first.0", "first.1"), ("first.1", "second"), ("second", "")}


def test_layers_used_twice_and_long_runs(on_the_cpu) -> None:
    twice = {m["name"]: m for m in on_the_cpu["uses_the_same_layer_twice"]["modules"]}
    assert twice["0"]["calls"] == 2
    assert on_the_cpu["a_long_run"]["operators"] == 2000


def test_drivers_and_memory_of_real_devices(on_the_cpu) -> None:
    drivers = on_the_cpu["drivers"]
    assert {name: answer["status"] for name, answer in drivers.items()} == {
        "older": "no",
        "same major": "yes",
        "newer": "yes",
        "cpu": "not applicable",
    }
    assert drivers["older"]["seen"] == "the driver supports CUDA 11.8, torch is built for 12.8"
    assert "a torch built for CUDA 11.8" in drivers["older"]["fix"]
    short = on_the_cpu["memory_that_is_short"]
    assert short["status"] == "no" and "95 B of 100 B" in short["seen"] and short["fix"]


def test_what_the_fix_names_mends_it(running) -> None:
    assert running["adopted"]["ok"], running["adopted"]["findings"]
