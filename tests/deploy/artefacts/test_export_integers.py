"""Large integers, which ONNX Runtime computes otherwise: the contract names the operators."""

from __future__ import annotations

import onnxruntime
import pytest
import torch
import torchport
from torch import nn

pytestmark = [pytest.mark.devices(None, timeout=600), pytest.mark.usefixtures("own_folder")]

LARGE = [2**31 + 5, -(2**31) - 7, 2**33 + 1, 5, -(2**35) - 3, 2**32 + 1, 9, 2**34 + 3]


def cut(k, j):
    return torch.div(k, 3, rounding_mode="trunc")


def floored(k, j):
    return torch.div(k, 3, rounding_mode="floor")


def divided(k, j):
    return k // 7


def divided_by_another(k, j):
    return k // j


def sign(k, j):
    return k.sign()


def smaller(k, j):
    return torch.minimum(k, j)


def larger(k, j):
    return torch.maximum(k, j)


def bounded(k, j):
    return k.clamp(-5, 2**40)


class Model(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, k, j):
        return self.function(k, j)


def export(function, dtype=torch.int64):
    k = torch.arange(-1000, 1000, 91)[:18].reshape(3, 6)
    sample = (k.to(dtype), (k.flip(1) + 7).to(dtype))
    return torchport.export(Model(function).eval(), sample, to="onnx", path="integers.onnx")


@pytest.mark.parametrize(
    ("function", "beyond"),
    [
        *((one, "2^24") for one in (cut, floored, divided, divided_by_another)),
        *((one, "2^31") for one in (sign, smaller, larger, bounded)),
    ],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_operators_that_are_wrong_for_large_integers_are_in_the_contract(function, beyond):
    assumes = export(function).contract["assumes"]
    line = Model.forward.__code__.co_firstlineno + 1
    assert any(
        text.startswith(f"integers beyond {beyond}: ONNX Runtime answers otherwise")
        and f"test_export_integers.py:{line}" in text
        for text in assumes
    ), assumes


@pytest.mark.parametrize("function", [cut, floored, sign], ids=lambda one: one.__name__)
def test_they_are_wrong(function):
    """When this fails, a release of the exporter or of ONNX Runtime is right, and need not be named."""
    export(function)
    session = onnxruntime.InferenceSession("integers.onnx", providers=["CPUExecutionProvider"])
    k = torch.tensor(LARGE)[:6].repeat(3, 1)
    feeds = {"k": k.numpy(), "j": k.flip(1).numpy()}
    names = [one.name for one in session.get_inputs()]
    (got,) = session.run(None, {name: feeds[name] for name in names})
    assert not torch.equal(torch.as_tensor(got), function(k, k.flip(1)))


def sums(k, j):
    return k + j * 2 - 5, k % 7, k > j, torch.where(k > 0, k, j), k & j


def of_floats(k, j):
    return torch.minimum(k.double(), j.double()).sign()


def of_sizes(k, j):
    return k[: (k.shape[0] + 1) // 2] + j[: (j.shape[0] + 1) // 2]


@pytest.mark.parametrize("function", [sums, of_floats, of_sizes], ids=lambda one: one.__name__)
def test_other_operators_are_not_named(function):
    assert not any(text.startswith("integers") for text in export(function).contract["assumes"])


def test_those_of_64_bits_are_right_with_32():
    assert not any(
        text.startswith("integers") for text in export(smaller, torch.int32).contract["assumes"]
    )
