"""torchport.parallelize without torchrun."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest
import torch
import torchport
from torch import nn

pytestmark = pytest.mark.devices("cuda:2")


def test_one_process_moves_the_model() -> None:
    net = torchport.parallelize(nn.Linear(4, 4))
    plan = torchport.plan_parallel(net)
    assert plan.strategy == "single" and net.weight.is_cuda, plan
    assert str(plan).startswith("single on 1 x cuda: there is one process, and it uses 1 of 2 cuda")
    assert plan.training_bytes == 4 * plan.model_bytes == 4 * 20 * 4
    assert torchport.plan_parallel(nn.Linear(4, 4), optimizer_states=0).training_bytes == 2 * 20 * 4
    assert torchport.unwrap_model(net) is net and not torch.distributed.is_initialized()
    assert list(torchport.full_state_dict(net)) == ["weight", "bias"]


def test_the_way_to_use_the_other_devices_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    main = ModuleType("__main__")
    main.__spec__ = None
    main.__file__ = "my train.py"
    monkeypatch.setitem(sys.modules, "__main__", main)
    torchport.parallelize(nn.Linear(4, 4))
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().endswith("torchrun --nproc-per-node 2 'my train.py'")
    main.__spec__ = ModuleSpec("tools.train.__main__", None)
    plan = torchport.plan_parallel(nn.Linear(4, 4))
    assert plan.reason.endswith("torchrun --nproc-per-node 2 -m tools.train")
    with pytest.raises(RuntimeError, match=r"--nproc-per-node 2 -m tools\.train"):
        torchport.plan_parallel(nn.Linear(4, 4), "fsdp")
    caplog.clear()
    torchport.parallelize(nn.Linear(4, 4), "single")
    torchport.parallelize(nn.Linear(4, 4), device="cpu")
    assert not [one for one in caplog.records if one.levelname == "WARNING"]


def test_what_needs_more_processes_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="ddp needs several processes") as caught:
        torchport.parallelize(nn.Linear(4, 4), "ddp")
    assert "torchrun" in str(caught.value)
    with pytest.raises(RuntimeError, match="the model does not fit") as caught:
        torchport.parallelize(nn.Linear(4, 4), memory=100)
    assert "there is only one process" in str(caught.value)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(RuntimeError, match="WORLD_SIZE is 2, but RANK or MASTER_ADDR is missing"):
        torchport.parallelize(nn.Linear(4, 4))
