"""check_module sees what a move left behind, and says which part is where."""

from __future__ import annotations

import pytest
import torch
import torchport
from torch import nn

pytestmark = pytest.mark.devices("cuda:2")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 40), nn.BatchNorm1d(40))
        self.head = nn.Linear(40, 2)


def found(module, **options):
    return {(one.kind, one.name): one.message for one in torchport.check_module(module, **options)}


def test_a_module_on_one_device_is_consistent() -> None:
    assert found(Net()) == found(Net().to("cuda:1")) == found(Net().to("meta")) == {}


def test_a_submodule_that_was_left() -> None:
    net = Net().to("cuda")
    net.head = nn.Linear(40, 2)
    seen = found(net)
    assert seen.keys() == {("half-moved", "head")}
    message = seen["half-moved", "head"]
    assert "is on cpu (2 tensors), body on cuda:0" in message
    assert "module.to('cuda:0')" in message


def test_tensors_that_were_left() -> None:
    net = Net().to("cuda")
    net.body[1].running_mean = torch.zeros(40)
    net.head.bias.data = net.head.bias.data.cpu()
    assert found(net).keys() == {
        ("half-moved", "body.1.running_mean"),
        ("half-moved", "head.bias"),
    }


def test_a_tie_that_a_move_split() -> None:
    net = nn.ModuleDict({"embedding": nn.Embedding(5, 40), "head": nn.Linear(40, 5, bias=False)})
    net["head"].weight = net["embedding"].weight
    before = torchport.shared_parameters(net)
    net.to("cuda")
    net["head"].weight = nn.Parameter(net["head"].weight.detach().cpu())
    seen = found(net, before=before)
    assert {kind for kind, _ in seen} == {"half-moved", "untied"}


def test_weights_without_data() -> None:
    net = Net().to("cuda")
    net.head = nn.Linear(40, 2, device="meta")
    assert "no data yet" in found(net)["half-moved", "head"]


def test_a_split_over_accelerators_may_be_meant() -> None:
    net = Net().to("cuda:0")
    net.head.to("cuda:1")
    message = found(net)["split", "head"]
    assert "if that is meant" in message and "torchport verify" in message
    net.hf_device_map = {"body": 0, "head": 1}
    assert found(net) == {}


def test_tensors_outside_of_the_registry() -> None:
    net = Net()
    net.mask, net.scale = torch.ones(3), torch.tensor(2.0)
    net.tables = {"a": [torch.ones(2)]}
    net.hidden = [nn.Linear(2, 2)]
    assert found(net) == {}, "all on the CPU"
    net.to("cuda")
    seen = found(net)
    names = {"mask", "tables['a'][0]", "hidden[0]"}
    assert seen.keys() == {("unregistered", name) for name in names}
    assert "torchport.adopt(module)" in seen["unregistered", "mask"]
    assert "nn.ModuleList" in seen["unregistered", "hidden[0]"]


def test_weights_of_lazy_modules_have_no_shape_yet() -> None:
    net = nn.Sequential(nn.Linear(4, 4).to("cuda"), nn.LazyLinear(2))
    assert found(net).keys() == {("half-moved", "1")}
    assert torchport.shared_parameters(net).groups == ()


def test_state_of_the_optimizer_that_was_left() -> None:
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    net.head(net.body(torch.ones(3, 4))).sum().backward()
    optimizer.step()
    assert found(net, optimizer=optimizer) == {}
    net.to("cuda")
    seen = found(net, optimizer=optimizer)
    assert seen.keys() == {("optimizer", "state['exp_avg']"), ("optimizer", "state['exp_avg_sq']")}
    message = seen["optimizer", "state['exp_avg']"]
    assert "body.0.weight" in message and "is on cpu" in message
    torchport.to(optimizer, "cuda:0")
    assert found(net, optimizer=optimizer) == {}


def test_a_loss_of_a_half_moved_model() -> None:
    net = Net().to("cuda")
    net.head.to("cpu")
    loss = nn.CrossEntropyLoss(weight=torch.ones(2))
    kinds = {one.kind for one in torchport.check_module(net, loss)}
    assert kinds == {"half-moved", "loss-device"}
