"""Models of timm, weights random, as they are and with something broken in them.

Skipped if timm is not installed: `make test-programs` has it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
import torchport

pytestmark = pytest.mark.devices("cuda:1")

# timm imports torchvision, which is not needed for what is tested.
sys.path.insert(0, str(Path(__file__).parents[1] / "virtual/standins"))
timm = pytest.importorskip("timm", reason="timm is not installed")
D = "cuda"


def made(name: str, size: int) -> tuple[torch.nn.Module, torch.Tensor]:
    return timm.create_model(name), torch.randn(2, 3, size, size)


@pytest.mark.parametrize(
    ("name", "size", "operators"),
    [("resnet50", 64, 175), ("vit_tiny_patch16_224", 224, 200), ("convnext_atto", 64, 100)],
)
def test_models_as_they_are(name, size, operators) -> None:
    result = torchport.verify(*made(name, size), device=D, evaluate=True)
    assert result.ok, result.findings
    assert result.operators >= operators and result.devices == ["cuda:0"]


def test_a_model_trains() -> None:
    def step(model, images):
        model(images).sum().backward()

    result = torchport.verify(*made("resnet18", 64), device=D, call=step, training=True)
    assert result.ok, result.findings


def test_a_position_that_is_left_on_the_host() -> None:
    model, images = made("vit_tiny_patch16_224", 224)
    model.to(D)
    model.pos_embed = torch.nn.Parameter(model.pos_embed.cpu())
    mixed = torchport.verify(model, images.to(D), evaluate=True).mixed
    assert mixed.culprit.name == "pos_embed" and mixed.pattern == "parameter/buffer"
    assert mixed.line.text.startswith("x = x + pos_embed")
