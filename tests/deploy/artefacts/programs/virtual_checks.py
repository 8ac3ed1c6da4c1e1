"""Exports on two virtual CUDA devices."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import models
import torch
import torchport
from checks import check, raises, run_checks
from torchport.deploy.artefact import ExportError

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
def a_tensor_that_forward_makes_elsewhere_is_named_with_its_line():
    with raises(ExportError, "add", "models.py:", "is on cpu", "cuda:0", "device=x.device"):
        torchport.export(
            models.two_devices(), models.rows(), to="pt2", path="bad.pt2", device="cuda:0"
        )


@check
def strays_move_with_the_module():
    done = torchport.export(
        models.net(), models.picture().cuda(), to="torchscript", path="net.pt", device="cuda"
    )
    assert any("shift a buffer" in note for note in done.notes), done.notes
    assert done.parity.absolute < 1e-5


@check
def nothing_is_compiled_for_a_virtual_device():
    with raises(ExportError, "real cuda device", "--device cpu"):
        torchport.export(models.plain(), models.rows(), to="aoti", path="v.pt2", device="cuda")
    assert not Path("v.pt2").exists()


run_checks()
