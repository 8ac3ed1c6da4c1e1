"""Model parallelism and a part that was forgotten in a move are told apart."""

from __future__ import annotations

import pytest
import torch
import torchport
from torch import nn

pytestmark = pytest.mark.devices("cuda:2")


class Two(nn.Module):
    def __init__(self, first="cuda:0", second="cuda:1"):
        super().__init__()
        self.first = nn.Sequential(nn.Linear(4, 8), nn.ReLU()).to(first)
        self.second = nn.Linear(8, 8).to(second)


class Parallel(Two):
    def forward(self, x):
        return self.second(self.first(x).to("cuda:1"))  # border


class Forgets(Two):
    """Moves to the second part, and not back."""

    def forward(self, x):
        y = self.second(self.first(x).to("cuda:1"))
        return self.first[0](y[:, :4])


class NoMoves(Two):
    def forward(self, x):
        return self.second(self.first(x))


class Unused(Two):
    def forward(self, x):
        return self.first(x)


class Towers(Two):
    def forward(self, x, y):
        return self.first(x), self.second(y)


def verified(model, inputs):
    return torchport.verify(model, inputs, evaluate=True)


def spread(result):
    (found,) = [one for one in result.findings if one.code == "spread-model"]
    return found


X = torch.ones(2, 4, device="cuda:0")


def test_a_split_with_moves_is_on_purpose() -> None:
    result = verified(Parallel(), X)
    found = spread(result)
    assert found.severity == "note" and "on purpose" in found.message
    assert "first on cuda:0 and second on cuda:1" in found.message
    assert "test_split.py:" in found.message, "the line of the move"
    assert result.ok, "the copy at the border is part of the split"


def test_a_missing_move_in_a_split() -> None:
    result = verified(Forgets(), X)
    assert result.mixed is not None
    fix = result.mixed.fix
    assert "split on purpose" in fix and "without a move" in fix and ".to('cuda:0')" in fix
    assert "model.to" not in fix
    assert spread(result).severity == "note"
    assert not [one for one in result.findings if one.code == "misplaced-tensor"]


def test_a_part_without_any_move() -> None:
    result = verified(NoMoves(), X)
    assert result.mixed is not None
    fix = result.mixed.fix
    assert "nothing in this run moves a tensor" in fix
    assert "If first was forgotten in a move, call model.to('cuda:1')" in fix
    assert "move self.first(x) before second is called, with .to('cuda:1')" in fix
    assert spread(result).severity == "warning"


def test_a_part_that_did_not_run() -> None:
    model = Unused()
    model.first = nn.Linear(4, 400).to("cuda:0")
    result = verified(model, X)
    found = spread(result)
    assert found.severity == "warning" and "second did not run" in found.message
    assert "model.to('cuda:0')" in found.fix


def test_towers_on_two_devices_are_a_note() -> None:
    result = verified(Towers(), (X, torch.ones(2, 8, device="cuda:1")))
    assert spread(result).severity == "note" and result.ok


def test_a_device_map_is_a_purpose() -> None:
    model = NoMoves()
    model.hf_device_map = {"first": 0, "second": 1}
    fix = verified(model, X).mixed.fix
    assert "a device map placed its modules" in fix and "without a move" in fix


def test_a_forgotten_device_of_one_part() -> None:
    class Late(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(4, 400)
            self.head = nn.Linear(400, 2)

        def forward(self, x):
            return self.head(self.body(x))

    model = Late().to("cuda:1")
    model.head = nn.Linear(400, 2).to("cuda")
    fix = verified(model, X.to("cuda:1")).mixed.fix
    assert "If head was forgotten in a move, call model.to('cuda:1')" in fix
    model.head.to("cpu")
    fix = verified(model, X.to("cuda:1")).mixed.fix
    assert "head.weight was not moved with the rest: call model.to('cuda:1')" in fix
