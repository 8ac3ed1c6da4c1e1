"""Exports on two virtual CUDA devices."""

from __future__ import annotations

import os
import re
from pathlib import Path

import models
import pytest
import torch
import torchport
from torchport import ExportError

pytestmark = [pytest.mark.devices("cuda:2"), pytest.mark.usefixtures("own_folder")]


def test_models_on_two_devices_are_told_apart_by_the_tensors_names():
    model = models.plain().cuda(0)
    model.layers[2].cuda(1)
    Path("two").mkdir()
    with pytest.raises(ExportError, match=re.escape("layers.2.weight")) as caught:
        torchport.export(model, models.rows(), to="pt2", path="two/out.pt2")
    assert "cuda:1" in str(caught.value)
    assert "input x" in str(caught.value)
    assert "cpu" in str(caught.value)
    assert "--device" in str(caught.value)
    assert os.listdir("two") == []
    done = torchport.export(model, models.rows(), to="torchscript", path="one.pt", device="cuda:1")
    assert done.contract["host"]["device"] == "cuda"
    assert model.layers[0].weight.device == torch.device("cuda:0")  # the caller's is where it was


def test_a_tensor_that_forward_makes_elsewhere_is_named_as_verify_names_it():
    model = models.two_devices()
    result = torchport.verify(model, (models.rows(),), device="cuda:0", evaluate=True)
    finding = result.findings[0]
    line = result.mixed.line
    assert line.text == "return self.layers(x) + bias" and result.mixed.culprit.name == "bias"
    with pytest.raises(ExportError, match=re.escape(finding.message)) as raised:
        torchport.export(model, models.rows(), to="pt2", path="bad.pt2", device="cuda:0")
    assert finding.fix in str(raised.value)
    assert f"at {line}" in str(raised.value)
    assert result.mixed.fixed_line in str(raised.value)
    assert str(raised.value).startswith(
        "add.Tensor got bias on cpu and self.layers(x) on cuda:0, at "
    )
    assert "device=x.device" in str(raised.value)
    # A caller who watches sees the run of the export, and is not in its way.
    outer = torchport.verify(models.plain(), (models.rows(),), call=_exports, device="cuda:0")
    assert outer.mixed is not None and outer.mixed.caught


def _exports(model, rows):
    with pytest.raises(ExportError, match="got bias on cpu"):
        torchport.export(models.two_devices(), rows, to="pt2", path="bad.pt2", device="cuda:0")


def test_unregistered_tensors_move_with_the_module():
    done = torchport.export(
        models.net(), models.picture().cuda(), to="torchscript", path="net.pt", device="cuda"
    )
    assert any("shift as a buffer" in note for note in done.notes), done.notes
    assert done.parity.absolute < 1e-5


def test_nothing_is_compiled_for_a_virtual_device():
    with pytest.raises(ExportError, match="real cuda device") as caught:
        torchport.export(models.plain(), models.rows(), to="aoti", path="v.pt2", device="cuda")
    assert "--device cpu" in str(caught.value)
    assert not Path("v.pt2").exists()
