"""Tensors of losses and of other modules that are not part of the model have the program's names."""

from __future__ import annotations

import pytest
import torch
import torchport
from torch import nn
from torch.nn import functional

pytestmark = pytest.mark.devices("cuda:2")

criterion = nn.CrossEntropyLoss(weight=torch.ones(3))
X, Y = torch.ones(2, 4), torch.tensor([0, 1])


class Focal(nn.Module):
    def __init__(self):
        super().__init__()
        self.alpha = torch.ones(3)

    def forward(self, logits, target):
        return (functional.log_softmax(logits, -1) * self.alpha).mean()


class Combined(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.CrossEntropyLoss(weight=torch.ones(3))])

    def forward(self, logits, target):
        return self.parts[0](logits, target)


class Trainer:
    def __init__(self, loss):
        self.loss = loss
        self.weights = torch.ones(3)

    def step(self, model, x, y):
        return self.loss(model(x), y)

    def functional(self, model, x, y):
        return functional.cross_entropy(model(x), y, weight=self.weights)


def by_global(model, x, y):
    return criterion(model(x), y)


def by_closure():
    inner = nn.CrossEntropyLoss(weight=torch.ones(3))

    def step(model, x, y):
        return inner(model(x), y)

    return step


def caught(model, x, y):
    try:
        return criterion(model(x), y)
    except RuntimeError:
        return None


def binary(model, x, y):
    loss = nn.BCEWithLogitsLoss(pos_weight=torch.ones(3))
    return loss(model(x), torch.zeros(2, 3, device=x.device))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (by_global, "criterion.weight"),
        (by_closure(), "inner.weight"),
        (Trainer(nn.CrossEntropyLoss(weight=torch.ones(3))).step, "self.loss.weight"),
        (Trainer(Combined()).step, "self.loss.parts.0.weight"),
        (binary, "loss.pos_weight"),
        (caught, "CrossEntropyLoss.weight"),
    ],
    ids=["global", "closure", "attribute", "within a loss", "local", "caught"],
)
def test_the_buffer_of_a_loss_is_named(call, name) -> None:
    result = torchport.verify(nn.Linear(4, 3), (X, Y), device="cuda", call=call, training=True)
    assert result.mixed is not None
    side = result.mixed.culprit
    assert (side.name, side.kind, side.device) == (name, "buffer", "cpu")
    loss = name.split(".")[0] if name[:4] != "self" else "self.loss"
    assert f"a buffer of {loss}" in result.mixed.fix and "not part of the model" in result.mixed.fix
    assert ".to('cuda:0')" in result.mixed.fix and "follow_input" in result.mixed.fix
    assert f"{name} on cpu" in result.findings[0].message


def test_a_plain_attribute_of_a_loss() -> None:
    step = Trainer(Focal()).step
    result = torchport.verify(nn.Linear(4, 3), (X, Y), device="cuda", call=step, training=True)
    assert result.mixed.culprit.name == "self.loss.alpha"
    assert "plain attribute of Focal" in result.mixed.fix and "self.loss" in result.mixed.fix


def test_an_attribute_of_the_trainer() -> None:
    step = Trainer(None).functional
    result = torchport.verify(nn.Linear(4, 3), (X, Y), device="cuda", call=step, training=True)
    assert result.mixed.culprit.name == "self.weights"


def test_a_loss_inside_the_model_is_the_models() -> None:
    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 3)
            self.criterion = nn.CrossEntropyLoss(weight=torch.ones(3))

        def forward(self, x, y):
            return self.criterion(self.linear(x), y)

    model = Whole().to("cuda")
    model.criterion.to("cpu")
    mixed = torchport.verify(model, (X.cuda(), Y.cuda()), training=True).mixed
    assert mixed.culprit.name == "criterion.weight" and "model.to('cuda:0')" in mixed.fix
