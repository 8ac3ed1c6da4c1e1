"""torchport.adopt on modules that hold tensors in every way there is."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import pytest
import torch
import torchport
from torch import nn
from torch.nn.utils.rnn import pack_sequence

pytestmark = pytest.mark.devices("cuda:1", None)


DEVICE = torch.device("cuda" if torch.cuda.is_available() else "meta")


@dataclass(frozen=True)
class Statistics:
    mean: torch.Tensor
    names: tuple[str, ...] = ("a", "b")


class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


class Block(nn.Module):
    scale = torch.full((3,), 2.0)  # on the class: one for all

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.mask = torch.ones(3)
        self.tables = [torch.zeros(3), {"deep": torch.arange(3.0)}]
        self.statistics = Statistics(torch.full((3,), 0.5))
        self.pair = Pair(torch.ones(3), torch.zeros(3))
        self.rnn = nn.LSTM(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.linear(x) * self.mask * self.scale + self.tables[0] + self.tables[1]["deep"]
        return x - self.statistics.mean + self.pair.left + self.pair[1]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x


NAMES = [
    "mask",
    "tables[0]",
    "tables[1]['deep']",
    "statistics.mean",
    "pair[0]",
    "pair[1]",
    "scale",
]


def test_every_place_is_found_and_moves() -> None:
    net = Net()
    keys, x = list(net.state_dict()), torch.randn(2, 3)
    want = net(x)
    report = torchport.adopt(net)
    assert sorted(one.name for one in report.adopted) == sorted(
        f"blocks.{i}.{name}" for i in (0, 1) for name in NAMES
    ), report
    assert report.left == [], report
    assert list(net.state_dict()) == keys
    assert torch.equal(net(x), want)
    net.to(DEVICE)
    for one in report.adopted:
        assert net.get_buffer(one.buffer).device.type == DEVICE.type, one
    assert {t.device.type for t in net.blocks[0].pair} == {DEVICE.type}
    assert type(net.blocks[0].pair) is Pair and net.blocks[0].statistics.names == ("a", "b")
    assert net.blocks[0].scale.device.type == DEVICE.type and Block.scale.device.type == "cpu"
    got = net(x.to(DEVICE))
    assert got.device.type == DEVICE.type
    if DEVICE.type == "cuda":
        torch.testing.assert_close(got.cpu(), want)
    net.load_state_dict(dict.fromkeys(keys) | dict(Net().state_dict()))


def test_a_second_time_there_is_nothing() -> None:
    net = Net()
    assert torchport.adopt(net)
    again = torchport.adopt(net)
    assert not again and str(again) == "no unregistered tensors", again


def test_copies_have_places_of_their_own() -> None:
    net = Net()
    torchport.adopt(net)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        other.to(torch.float64)
        assert other.blocks[1].tables[0].dtype == torch.float64
        assert other.blocks[1].statistics.mean.dtype == torch.float64
        assert net.blocks[1].tables[0].dtype == torch.float32
        assert net.blocks[1].statistics.mean.dtype == torch.float32
        assert not torchport.adopt(other)


def test_one_tensor_in_two_places_stays_one() -> None:
    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mask", torch.ones(2))
            self.masks = [self.mask, self.mask]
            self.first = torch.zeros(2)
            self.second = self.first

    net = Shared()
    report = torchport.adopt(net)
    assert [one.buffer for one in report.adopted] == ["mask", "mask", "first", "first"], report
    assert list(dict(net.named_buffers())) == ["mask", "first"]
    net.to(torch.float64)
    assert net.masks[0] is net.mask and net.masks[1] is net.mask
    assert net.second is net.first and net.first.dtype == torch.float64


def test_what_cannot_be_adopted_is_left_and_named() -> None:
    class Helper:
        def __init__(self) -> None:
            self.mean = torch.ones(2)

    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(2, 2)
            self.layers = [nn.Linear(2, 2)]
            self.weights = [nn.Parameter(torch.ones(2))]
            self.known = [self.linear, self.linear.weight]  # both registered
            self.view = self.linear.weight.detach()[0]
            self.product = self.linear.weight * 2
            self.bag = {torch.ones(1)}
            self.helper = Helper()
            self.fixed = MappingProxyType({"mean": torch.ones(1)})
            self.packed = pack_sequence([torch.ones(2), torch.ones(1)])
            self.cycle: list = [1]
            self.cycle.append(self.cycle)

    net = Odd()
    before = dict(vars(net))
    report = torchport.adopt(net)
    assert report.adopted == [] and dict(vars(net)) == before
    assert [name for name, _ in report.left] == [
        "layers[0]",
        "weights[0]",
        "view",
        "product",
        "bag[0]",
        "helper.mean",
        "fixed['mean']",
        "packed[0]",
        "packed[1]",
    ]
    reasons = [why for _, why in report.left]
    for part, why in zip(
        (
            "ModuleList",
            "ParameterList",
            "view of linear.weight",
            "gradients",
            "set",
            "object of Helper",
            "read-only",
            "PackedSequence",
            "PackedSequence",
        ),
        reasons,
        strict=True,
    ):
        assert part in why, why
    assert "left layers[0]: it is a module (Linear)" in str(report)


def test_names_that_are_taken_get_another() -> None:
    class Taken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tables = [torch.ones(1)]
            self.tables_0 = "taken"

    net = Taken()
    assert torchport.adopt(net).adopted[0].buffer == "tables_0_"
    assert net.tables_0 == "taken"


def test_compiling_and_exporting_go_on() -> None:
    net = Net().eval()
    torchport.adopt(net)
    x = torch.randn(2, 3)
    want = net(x)
    program = torch.export.export(net, (x,))
    torch.testing.assert_close(program.module()(x), want)
    compiled = torch.compile(net, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), want)
    net.to(torch.float64)
    torch.testing.assert_close(compiled(x.double()), net(x.double()))


def test_a_functional_call_reaches_the_list() -> None:
    net = Block()
    torchport.adopt(net)
    x = torch.zeros(1, 3)
    zeros = {name: torch.zeros_like(value) for name, value in net.state_dict().items()}
    given = zeros | {"tables_0": torch.full((3,), 7.0)}
    got = torch.func.functional_call(net, given, (x,))
    assert torch.equal(got, net(x) - 2 * net.linear.bias + 7), got
    assert torch.equal(net.tables[0], torch.zeros(3))


def test_scripted_modules_are_let_alone() -> None:
    scripted = torch.jit.script(nn.Linear(2, 2))
    assert not torchport.adopt(nn.Sequential(scripted))
    with pytest.raises(AttributeError):
        torchport.adopt("no module")
