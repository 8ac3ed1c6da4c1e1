"""Broken ties, replaced parameters, losses left behind: found with names, and mended."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F
import torchport
from torch import nn

pytestmark = pytest.mark.devices("cuda:2")


class Language(nn.Module):
    def __init__(self, device: str | None = None) -> None:
        super().__init__()
        self.embedding = nn.Embedding(6, 4, device=device)
        self.head = nn.Linear(4, 6, bias=False, device=device)
        self.head.weight = self.embedding.weight
        self.register_buffer("positions", torch.arange(3.0, device=device))
        self.inner = nn.Module()
        self.inner.register_buffer("positions", self.positions)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.embedding(tokens))


TIED = (("embedding.weight", "head.weight"), ("positions", "inner.positions"))


def kinds(findings: list[torchport.ModuleFinding]) -> list[tuple[str, str]]:
    return [(finding.kind, finding.name) for finding in findings]


def test_a_sound_module_has_no_findings() -> None:
    model = Language()
    assert torchport.shared_parameters(model).groups == TIED
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    assert (
        torchport.check_module(
            model, optimizer=optimizer, before=torchport.shared_parameters(model)
        )
        == []
    )
    assert torchport.check_module(nn.LSTM(2, 2, 2).cuda()) == []


def test_moves_untie_buffers() -> None:
    model = Language()
    before = torchport.shared_parameters(model)
    model.cuda()
    (found,) = torchport.check_module(model, before=before)
    assert (found.kind, found.name) == ("untied", "inner.positions"), found
    assert "was the same tensor as positions" in str(found) and "cuda:0" in str(found)
    assert before.restore(model) == [found]
    assert model.inner.positions is model.positions and before.broken(model) == []


def test_making_storage_unties_weights() -> None:
    for keep in (False, True):
        model = Language("meta")
        before = torchport.shared_parameters(model)
        assert before.groups == TIED
        if keep:
            with torchport.keep_shared_parameters(model) as held:
                model.to_empty(device="cuda")
            assert held == before and before.broken(model) == []
            assert model.head.weight is model.embedding.weight
        else:
            model.to_empty(device="cuda")
            assert kinds(before.broken(model)) == [
                ("untied", "head.weight"),
                ("untied", "inner.positions"),
            ]


def test_assigning_a_state_dict_unties_weights() -> None:
    model = Language()
    before = torchport.shared_parameters(model)
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.load_state_dict(state, assign=True)
    assert kinds(before.broken(model))[0] == ("untied", "head.weight")
    before.restore(model)
    assert model.head.weight is model.embedding.weight and not before.broken(model)


def test_ties_by_memory_count_too() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = nn.Parameter(model[0].weight.detach())
    before = torchport.shared_parameters(model)
    assert before.groups == (("0.weight", "1.weight"),)
    model.cuda()  # each parameter is copied
    assert kinds(before.broken(model)) == [("untied", "1.weight")]


def test_what_shadows_the_registry_is_found() -> None:
    model = nn.Linear(2, 2)
    model.__dict__["weight"] = torch.zeros(2, 2)
    assert kinds(torchport.check_module(nn.Sequential(model))) == [("shadowed", "0.weight")]
    assert torch.equal(model(torch.ones(1, 2)), model.bias[None])  # as it says: forward reads that

    recurrent = nn.GRU(2, 2)
    recurrent._parameters["weight_hh_l0"] = nn.Parameter(torch.zeros(6, 2))
    assert kinds(torchport.check_module(recurrent)) == [("replaced", "weight_hh_l0")]

    class Listed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(3, 2)
            self.weights = [self.first.weight]
            self.tables = [torch.ones(3)]

    listed = Listed()
    torchport.adopt(listed)
    assert torchport.check_module(listed) == []
    listed.first.weight = nn.Parameter(torch.zeros(2, 3))
    listed.tables[0] = torch.zeros(3)
    found = torchport.check_module(listed)
    assert kinds(found) == [("replaced", "tables[0]"), ("unregistered", "weights[0]")], found
    assert "first.weight has the same shape" in str(found[1])


def test_optimizers_that_lost_their_parameters_are_found() -> None:
    model = Language()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.head.weight = nn.Parameter(torch.zeros(6, 4))
    model.embedding.weight = nn.Parameter(torch.zeros(6, 4))
    found = torchport.check_module(model, optimizer=optimizer)
    assert kinds(found) == [
        ("optimizer", "param_groups[0]['params'][0]"),
        ("optimizer", "embedding.weight"),
        ("optimizer", "head.weight"),
    ], found


def test_losses_with_class_weights_come_along(caplog: pytest.LogCaptureFixture) -> None:
    model = nn.Linear(3, 4).cuda()
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0, 4.0]))
    found = torchport.check_module(model, criterion)
    assert kinds(found) == [("loss-device", "CrossEntropyLoss.weight")], found
    assert "is on cpu, the model on cuda:0" in str(found[0])
    x, y = torch.randn(5, 3).cuda(), torch.tensor([0, 1, 2, 3, 0]).cuda()
    with pytest.raises(RuntimeError, match="same device"):
        criterion(model(x), y)

    assert torchport.follow_input(torchport.follow_input(criterion)) is criterion
    assert len(criterion._forward_pre_hooks) == 1
    want = F.cross_entropy(model(x), y, weight=torch.tensor([1.0, 2.0, 3.0, 4.0]).cuda())
    for loss in (criterion, copy.deepcopy(criterion), pickle.loads(pickle.dumps(criterion))):
        assert torch.equal(loss(model(x), y), want)
        assert torch.equal(loss(input=model(x), target=y), want)
    assert (
        caplog.messages
        == ["CrossEntropyLoss: weight (cpu) moved to cuda:0, where its input is"] * 3
    )  # one for each of the three losses, not one for each call
    assert torchport.check_module(model, criterion) == []


def test_device_modules_know_where_they_are() -> None:
    class Head(torchport.DeviceModule):
        def __init__(self) -> None:
            super().__init__()
            self.cache = None
            self.weight = nn.Parameter(torch.ones(2))
            self.mask = torch.tensor([1.0, 0.0])
            self.register_buffer("kept", torch.ones(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.last = x * self.weight  # a result: no buffer
            self.cache = torch.zeros(2, **self.here)
            return self.last * self.mask + self.cache

    head = Head()
    assert list(head.state_dict()) == ["weight", "kept"]
    assert head.device == torch.device("cpu") and head.dtype == torch.float32
    head.cuda().double()
    assert head.device == torch.device("cuda:0") and head.dtype == torch.float64
    assert head.mask.is_cuda and head.mask.dtype == torch.float64
    out = head(torch.ones(2, **head.here))
    assert out.tolist() == [1.0, 0.0] and out.is_cuda
    assert "last" not in head._buffers and "cache" in head._buffers and head.cache.is_cuda
    head.mask = None
    assert head.mask is None
    copied = copy.deepcopy(Head().to("cuda:1"))
    assert copied.device == torch.device("cuda:1") and not torchport.adopt(copied)
    with pytest.raises(TypeError):
        head.kept = "no tensor"
