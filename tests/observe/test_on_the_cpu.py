"""What is seen where there is no device but the CPU."""

from __future__ import annotations

import json

import pytest
import torch
import torchport
from torch import nn
from torchport.observe import checklist

pytestmark = pytest.mark.devices(None)


class Reads(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x)
        return y + 1 if y.sum() > 0 else y


def test_on_a_cpu_build() -> None:
    reads = torchport.verify(Reads(), torch.randn(2, 4), evaluate=True)
    assert reads.ok and reads.device == "cpu"
    (finding,) = reads.findings
    assert finding.severity == "note" and "would wait" in finding.message
    meta = torchport.verify(nn.Linear(4, 4, device="meta"), torch.randn(2, 4))
    assert meta.mixed.pattern == "model/input"


class Tree(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.second = nn.Linear(8, 2)
        self.register_buffer("mean", torch.zeros(2, dtype=torch.float64))
        self.table = torch.arange(6, dtype=torch.int16).view(2, 3)

    def forward(self, x):
        return self.second(self.first(x)).double() - self.mean


def test_the_tree_holds_everything() -> None:
    verified = torchport.verify(Tree(), torch.randn(3, 4), evaluate=True)
    result = json.loads(json.dumps(verified.to_dict()))
    tensors = {
        (m["name"], t["name"]): (t["kind"], t["dtype"], t["sizes"], t["bytes"])
        for m in result["modules"]
        for t in m["tensors"]
    }
    assert tensors[("first.0", "weight")] == ("parameter", "float32", [8, 4], 128)
    assert tensors[("", "mean")] == ("buffer", "float64", [2], 16)
    assert tensors[("", "table")] == ("unregistered tensor", "int16", [2, 3], 12)
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


def test_layers_used_twice() -> None:
    layer = nn.Linear(4, 4)
    result = torchport.verify(nn.Sequential(layer, nn.ReLU(), layer), torch.randn(3, 4))
    assert {m.name: m for m in result.modules}["0"].calls == 2


def test_long_runs() -> None:
    class Long(nn.Module):
        def forward(self, x):
            for _ in range(2000):
                x = x * 1.0001
            return x

    assert torchport.verify(Long(), torch.randn(3)).operators == 2000


@pytest.mark.parametrize(
    ("version", "status"),
    [(11080, "no"), (12040, "yes"), (13000, "yes")],
    ids=["older", "same major", "newer"],
)
def test_drivers_of_real_devices(monkeypatch: pytest.MonkeyPatch, version, status) -> None:
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setattr(torch._C, "_cuda_getDriverVersion", lambda: version, raising=False)
    answer = checklist.driver(torch.device("cuda:0"), virtual=False)
    assert answer.status == status
    if status == "no":
        assert answer.seen == "the driver supports CUDA 11.8, torch is built for 12.8"
        assert "a torch built for CUDA 11.8" in answer.fix
    assert checklist.driver(torch.device("cpu"), virtual=False).status == "not applicable"


def test_memory_that_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checklist, "peak_of", lambda device: (95, 100))
    short = checklist.memory(torch.device("cpu"), [])
    assert short.status == "no" and "95 B of 100 B" in short.seen and short.fix
