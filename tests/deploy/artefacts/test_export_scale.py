"""torchport.export compares a result by the scale of its own numbers."""

from __future__ import annotations

import models
import pytest
import torch
import torchport
from test_export import ALL, fresh, nothing_left
from torch import nn
from torchport import NotVerified

pytestmark = [pytest.mark.devices(None, timeout=600), pytest.mark.usefixtures("own_folder")]


class Scaled(models.Plain):
    """Its results are small; a trace keeps the branch of the sample's size."""

    def __init__(self, scale: float):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        result = self.layers(x) * self.scale
        return result if x.shape[0] < 6 else -result


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-6, 1e-9])
def test_wrong_signs_are_found_whatever_the_scale(scale):
    with pytest.raises(NotVerified, match="differs by"):
        torchport.export(
            Scaled(scale).eval(), models.rows(), to="torchscript", path=fresh("signs"),
            dynamic="batch",
        )  # fmt: skip
    nothing_left("signs")


def test_one_small_number_of_each_batch_is_compared_by_its_scale():
    class Sums(Scaled):
        def forward(self, x):
            return super().forward(x).sum()

    with pytest.raises(NotVerified, match="differs by"):
        torchport.export(
            Sums(1e-6).eval(), models.rows(), to="torchscript", path=fresh("sums"), dynamic="batch"
        )


@pytest.mark.parametrize("to", ALL)
def test_small_results_that_are_right_are_written(to):
    class Small(models.Plain):
        def forward(self, x):
            return self.layers(x) * 1e-6

    done = torchport.export(Small().eval(), models.rows(), to=to, path="small")
    assert not done.parity.findings


class Cancels(nn.Module):
    """What is left is rounding: each runtime has its own."""

    def forward(self, x):
        return x.repeat(1, 7).mean(1) - x.mean(1)


class Saturates(nn.Module):
    def forward(self, x):
        return torch.sigmoid(x), torch.softmax(x, -1), torch.exp(x.clamp(max=3)), torch.tanh(x)


@pytest.mark.parametrize("to", ["onnx", "torchscript"])
@pytest.mark.parametrize("kind", [Cancels, Saturates])
def test_what_roundings_explain_is_no_difference(kind, to):
    done = torchport.export(kind().eval(), models.rows() * 3, to=to, path="rounded")
    assert not done.parity.findings


def test_a_tolerance_of_the_user_is_taken_as_it_is():
    done = torchport.export(
        Scaled(1e-6).eval(), models.rows(), to="torchscript", path="own", dynamic="batch",
        tolerance=(1e-2, 1e-2),
    )  # fmt: skip
    assert done.contract["parity"]["allowed"] == {"absolute": 1e-2, "relative": 1e-2}
