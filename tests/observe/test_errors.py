"""Errors of the program pass through verify as they are."""

from __future__ import annotations

import re
import traceback

import pytest
import torch
import torchport
from torch import nn
from torch.nn.modules import module

pytestmark = pytest.mark.devices("cuda:2")

D = "cuda"


class Raises(nn.Module):
    def forward(self, x):
        raise KeyError("mine")


class WrongIndex(nn.Module):
    def forward(self, x):
        return x[torch.tensor([7])]


@pytest.mark.parametrize(
    ("model", "inputs", "device", "kind", "text"),
    [
        (Raises(), torch.randn(2), None, KeyError, "'mine'"),
        (
            nn.Linear(4, 2),
            torch.randn(2, 3),
            None,
            RuntimeError,
            "mat1 and mat2 shapes cannot be multiplied",
        ),
        (WrongIndex(), torch.randn(2, 3), D, IndexError, "index 7 is out of bounds"),
        (lambda x: x, torch.randn(2), None, TypeError, "needs an nn.Module, not function"),
        (
            nn.Linear(1, 1),
            torch.utils.data.DataLoader([]),
            None,
            ValueError,
            "yields no batch",
        ),
    ],
    ids=["raises", "wrong shape", "wrong index among devices", "no module", "empty loader"],
)
def test_errors_pass_through(model, inputs, device, kind, text) -> None:
    with pytest.raises(kind, match=re.escape(text)) as caught:
        torchport.verify(model, inputs, device=device)
    assert type(caught.value) is kind


def test_tensors_that_have_to_be_on_one_device() -> None:
    a, b = torch.ones(2, device=D), torch.ones(2)
    torchport.require_same_device(a=a, c=a, d=None, e=3)
    with pytest.raises(RuntimeError, match="got x on cuda:0 and y on cpu;"):
        torchport.require_same_device(x=a, y=b, z=None)


def test_the_error_is_the_programs_own_object() -> None:
    class Own(Exception):
        pass

    error = Own("kept")

    class Model(nn.Module):
        def forward(self, x):
            raise error

    with pytest.raises(Own) as caught:
        torchport.verify(Model(), torch.randn(2))
    assert caught.value is error
    assert traceback.extract_tb(error.__traceback__)[-1].name == "forward"


def test_nothing_is_left_behind() -> None:
    """After errors the thread is watched no more, and can be watched again."""
    for _ in range(2):
        with pytest.raises(KeyError):
            torchport.verify(Raises(), torch.randn(2))
    linear = nn.Sequential(nn.Linear(4, 4))
    assert torchport.verify(linear, torch.randn(2, 4), device=D, evaluate=True).operators == 1
    x = torch.ones(3, device=D)
    for _ in range(10):
        x = x + 1
    assert torchport.verify(linear, torch.randn(2, 4), device=D, evaluate=True).operators == 1
    assert len(module._global_forward_hooks) + len(module._global_forward_pre_hooks) == 0
