"""What a run that works shows: copies, reads, modes, graphs."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
import torch
import torchport
from torch import nn
from torch.utils.checkpoint import checkpoint

pytestmark = pytest.mark.devices("cuda:2")

SOURCE = Path(__file__).read_text().splitlines()
D = "cuda"


def verified(model, inputs, **options) -> dict:
    """The report, as JSON has it, on two virtual CUDA devices, in evaluation mode unless told otherwise."""
    options = {"device": D, "evaluate": True} | options
    return json.loads(json.dumps(torchport.verify(model, inputs, **options).to_dict()))


def codes(result: dict) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {}
    for finding in result["findings"]:
        found.setdefault(finding["code"], []).append(finding)
    return found


def marked(line: dict) -> str:
    return SOURCE[line["line"] - 1].partition("# ")[2]


class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x)


def test_a_good_model_is_verified() -> None:
    result = verified(Linear(), torch.randn(2, 4))
    assert result["ok"] and result["findings"] == [] and result["operators"] == 1
    assert result["devices"] == ["cuda:0"]


class Reads(Linear):
    def forward(self, x):
        y = self.linear(x)
        if y.sum() > 0:  # bool
            y = y + 1
        for _ in range(3):
            y.max().item()  # item
        positive = y[y > 0]  # masked
        torch.nonzero(y)  # nonzero
        rows = y[torch.tensor([0, 1])]  # host indices
        held = y[torch.tensor([0, 1], device=y.device)]  # made by a copy
        torch.repeat_interleave(y, torch.ones(2, dtype=torch.long, device=D), 0)  # unsized
        torch.repeat_interleave(  # sized
            y, torch.ones(2, dtype=torch.long, device=D), 0, output_size=2
        )
        y.shape[0], y.dim(), y.is_contiguous(), torch.tensor([], device=D)  # nothing
        y * torch.tensor(2.0) * 3  # a number on the host
        return positive, rows, held


def test_synchronising_reads_by_line() -> None:
    result = verified(Reads(), torch.randn(2, 4))
    reads = [t for t in result["transfers"] if t["kind"] == "read"]
    found = {
        (marked(t["line"]), t["op"].removeprefix("aten::").partition(".")[0], t["count"])
        for t in reads
    }
    assert found == {
        ("bool", "is_nonzero", 1),
        ("item", "item", 3),
        ("masked", "index", 1),
        ("nonzero", "nonzero", 1),
        ("unsized", "repeat_interleave", 1),
    }
    assert all(t["waits"] and t["source"] == "cuda:0" for t in reads)
    others = {marked(t["line"]) for t in result["transfers"] if t["kind"] != "read"}
    assert others == {"host indices", "made by a copy"}
    assert not result["ok"]


class Copies(Linear):
    def forward(self, x):
        y = self.linear(x)
        z = y.cpu()  # to host
        w = z.to(y.device, non_blocking=True)  # to device
        v = w.to("cuda:1")  # between
        y.copy_(v)  # copy_
        return y


def test_hidden_copies_by_line() -> None:
    found = {
        (marked(t["line"]), t["kind"], t["source"], t["target"], t["bytes"], t["waits"])
        for t in verified(Copies(), torch.randn(2, 4))["transfers"]
    }
    assert found == {
        ("to host", "to host", "cuda:0", "cpu", 32, True),
        ("to device", "to device", "cpu", "cuda:0", 32, False),
        ("between", "between devices", "cuda:0", "cuda:1", 32, True),
        ("copy_", "between devices", "cuda:1", "cuda:0", 32, True),
    }


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.bn(self.conv(x)))


def test_training_mode_and_the_checklist() -> None:
    result = verified(Net(), torch.randn(2, 3, 8, 8), evaluate=False)
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


def test_evaluation_mode_and_the_memory_of_the_device() -> None:
    model = Net()
    result = verified(model, torch.randn(2, 3, 8, 8))
    assert result["ok"] and all(a["status"] != "no" for a in result["checklist"])
    assert [m.training for m in model.modules()] == [True] * 4, "the modes are put back"
    (answer,) = [a for a in result["checklist"] if "memory" in a["question"]]
    assert "on cuda:0 was" in answer["seen"] and "GiB" in answer["seen"]


def test_a_model_in_evaluation_mode_that_shall_train() -> None:
    result = verified(Linear().eval(), torch.randn(2, 4), evaluate=False, training=True)
    assert "evaluation-mode" in codes(result)
    assert "gradients-on" not in codes(result)


class Keeps(Linear):
    def __init__(self):
        super().__init__()
        self.losses = []

    def forward(self, x):
        y = self.linear(x)
        self.losses.append(y.mean())
        return y


def test_graphs_that_are_kept() -> None:
    (finding,) = codes(verified(Keeps(), torch.randn(2, 4), evaluate=False))["kept-graph"]
    assert "losses[0]" in finding["message"] and "detach()" in finding["fix"]


class Autocast(Linear):
    def forward(self, x):
        with torch.autocast("cuda", dtype=torch.float16):
            return self.linear(x)


def test_autocast() -> None:
    within = verified(Autocast(), torch.randn(2, 4))
    assert within["autocast"] == []
    assert sum(m["with_autocast"] for m in within["modules"]) == 1
    assert within["outputs"][0]["dtype"] == "float16"
    with torch.autocast("cuda", dtype=torch.bfloat16):
        around = verified(Linear(), torch.randn(2, 4))
    assert around["autocast"] == ["cuda: bfloat16"]


class Finite(Linear):
    def forward(self, x):
        mask = torch.full((4,), float("-inf"), device=x.device)
        y = self.linear(x) * 0
        z = y / y  # nan
        large = torch.ones_like(x).mul(1e38)
        return (z + mask).softmax(-1), large * 10  # infinity


def test_nan_and_infinity_when_asked() -> None:
    result = verified(Finite(), torch.randn(2, 4), check_finite=True)
    found = {f["what"]: f for f in result["not_finite"]}
    assert marked(found["NaN"]["line"]) == "nan"
    assert found["NaN"]["op"] == "aten::div.Tensor"
    assert found["NaN"]["inputs"] == ["self.linear(x) * 0"] * 2
    assert marked(found["infinity"]["line"]) == "infinity"
    assert found["infinity"]["op"] == "aten::mul.Tensor", "masks of -inf are no finding"
    assert not result["ok"]
    assert verified(Finite(), torch.randn(2, 4))["ok"]


class Spread(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8).to("cuda:0")
        self.second = nn.Linear(8, 2).to("cuda:1")

    def forward(self, x):
        return self.second(self.first(x).to("cuda:1"))


def test_a_model_that_is_spread_on_purpose() -> None:
    result = verified(Spread(), torch.randn(2, 4, device="cuda:0"), device=None)
    found = codes(result)
    assert found.keys() == {"spread-model", "hidden-copy"}
    assert found["spread-model"][0]["severity"] == "note"
    assert result["checklist"][1]["status"] == "yes"
    flows = {(f["source"], f["target"], f["device"]) for f in result["flows"]}
    assert flows == {("first", "", "cuda:0"), ("", "second", "cuda:1")}


class Threads(Linear):
    def forward(self, x):
        given = []

        def work():
            given.append(self.linear(x))
            given[0].sum().item()

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return given[0]


def test_threads_of_the_program_are_watched() -> None:
    result = verified(Threads(), torch.randn(2, 4))
    (read,) = result["transfers"]
    assert read["op"] == "aten::item" and result["operators"] == 3


def step(model, *inputs):
    model(*inputs).sum().backward()


class Recomputed(Linear):
    def forward(self, x):
        return checkpoint(self.linear, x, use_reentrant=False)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        return self.head(self.embedding(tokens))


@pytest.mark.parametrize(
    ("make", "inputs", "operators"),
    [
        (Tied, torch.tensor([1, 2]), 2),
        (lambda: torch.compile(Linear()), torch.randn(2, 4), 1),
        (lambda: torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU())), torch.randn(2, 4), 2),
        (lambda: nn.LazyLinear(3), torch.randn(2, 4), 7),
    ],
    ids=["tied", "compiled", "scripted", "lazy"],
)
def test_ways_to_run(make, inputs, operators) -> None:
    result = verified(make(), inputs)
    assert result["ok"], result["findings"]
    assert result["operators"] == operators


def test_a_model_that_computes_again_in_the_backward_pass() -> None:
    result = verified(Recomputed(), torch.randn(2, 4), call=step, evaluate=False, training=True)
    assert result["ok"], result["findings"]
    assert result["operators"] == 12


class Transforms(nn.Module):
    def forward(self, x):
        return torch.vmap(lambda row: row @ row)(x), torch.func.grad(lambda v: (v**2).sum())(x)


class Layouts(nn.Module):
    def forward(self, x):
        nested = torch.nested.as_nested_tensor([x, x[:2]]) * 2
        return torch.sparse.mm(torch.eye(4, device=x.device).to_sparse(), x), nested


def test_transforms_and_other_layouts_run() -> None:
    result = verified(Transforms(), torch.randn(4, 4), evaluate=False)
    assert result["operators"] > 0 and result["mixed"] is None
    assert verified(Layouts(), torch.randn(4, 4), device=None)["ok"]


def test_tied_weights_have_both_names() -> None:
    result = verified(Tied(), torch.tensor([1, 2]))
    names = {f"{m['name']}.{t['name']}" for m in result["modules"] for t in m["tensors"]}
    assert {"embedding.weight", "head.weight"} <= names


def test_the_fix_for_loaders_is_verified() -> None:
    data = torch.utils.data.TensorDataset(torch.randn(8, 4))
    loader = torchport.loader(torch.utils.data.DataLoader(data, batch_size=4), D)
    result = verified(Linear(), loader)
    assert result["ok"], result
    assert result["devices"] == ["cuda:0"]


def test_a_batch_with_labels() -> None:
    data = torch.utils.data.TensorDataset(torch.randn(8, 4, device=D), torch.zeros(8))
    result = verified(Linear(), torch.utils.data.DataLoader(data, batch_size=4))
    assert result["ok"] and len(result["inputs"]) == 1
    assert "1 of the 2 parts" in codes(result)["batch"][0]["message"]


class Unregistered(Linear):
    def __init__(self):
        super().__init__()
        self.scale = torch.full((4,), 0.5)

    def forward(self, x):
        return self.linear(x) * self.scale


def test_what_the_fix_names_mends_it() -> None:
    model = Unregistered()
    torchport.adopt(model)
    result = verified(model, torch.randn(2, 4))
    assert result["ok"], result["findings"]
