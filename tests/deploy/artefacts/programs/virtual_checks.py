"""Exports on two virtual CUDA devices."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import models
import torch
import torchport
from checks import check, raises, run_checks
from torchport import ExportError

warnings.simplefilter("ignore")


@check
def models_on_two_devices_are_told_apart_by_the_tensors_names():
    model = models.plain().cuda(0)
    model.layers[2].cuda(1)
    Path("two").mkdir()
    with raises(ExportError, "layers.2.weight", "cuda:1", "input x", "cpu", "--device"):
        torchport.export(model, models.rows(), to="pt2", path="two/out.pt2")
    assert os.listdir("two") == []
    done = torchport.export(model, models.rows(), to="torchscript", path="one.pt", device="cuda:1")
    assert done.contract["host"]["device"] == "cuda"
    assert model.layers[0].weight.device == torch.device("cuda:0")  # the caller's is where it was


@check
def a_tensor_that_forward_makes_elsewhere_is_named_as_verify_names_it():
    model = models.two_devices()
    result = torchport.verify(model, (models.rows(),), device="cuda:0", evaluate=True)
    finding = result.findings[0]
    line = result.mixed.line
    assert line.text == "return self.layers(x) + bias" and result.mixed.culprit.name == "bias"
    with raises(
        ExportError, finding.message, finding.fix, f"at {line}", result.mixed.fixed_line
    ) as raised:
        torchport.export(model, models.rows(), to="pt2", path="bad.pt2", device="cuda:0")
    assert str(raised.error).startswith(
        "add.Tensor got bias on cpu and self.layers(x) on cuda:0, at "
    )
    assert "device=x.device" in str(raised.error)
    # A caller who watches sees the run of the export, and is not in its way.
    outer = torchport.verify(models.plain(), (models.rows(),), call=_exports, device="cuda:0")
    assert outer.mixed is not None and outer.mixed.caught


def _exports(model, rows):
    with raises(ExportError, "got bias on cpu"):
        torchport.export(models.two_devices(), rows, to="pt2", path="bad.pt2", device="cuda:0")


@check
def strays_move_with_the_module():
    done = torchport.export(
        models.net(), models.picture().cuda(), to="torchscript", path="net.pt", device="cuda"
    )
    assert any("shift as a buffer" in note for note in done.notes), done.notes
    assert done.parity.absolute < 1e-5


@check
def nothing_is_compiled_for_a_virtual_device():
    with raises(ExportError, "real cuda device", "--device cpu"):
        torchport.export(models.plain(), models.rows(), to="aoti", path="v.pt2", device="cuda")
    assert not Path("v.pt2").exists()


run_checks()
