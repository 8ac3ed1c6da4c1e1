"""torchport.parallelize without torchrun."""

from __future__ import annotations

import os

import torch
import torchport
from checks import check, raises, run_checks
from torch import nn


@check
def one_process_moves_the_model() -> None:
    net = torchport.parallelize(nn.Linear(4, 4))
    plan = torchport.plan_parallel(net)
    assert plan.strategy == "single" and net.weight.is_cuda, plan
    assert str(plan) == "single on 1 x cuda: there is one process"
    assert plan.training_bytes == 4 * plan.model_bytes == 4 * 20 * 4
    assert torchport.plan_parallel(nn.Linear(4, 4), optimizer_states=0).training_bytes == 2 * 20 * 4
    assert torchport.unwrap_model(net) is net and not torch.distributed.is_initialized()
    assert list(torchport.full_state_dict(net)) == ["weight", "bias"]


@check
def what_needs_more_processes_says_so() -> None:
    with raises(RuntimeError, "ddp needs several processes", "torchrun"):
        torchport.parallelize(nn.Linear(4, 4), "ddp")
    with raises(RuntimeError, "the model does not fit", "there is only one process"):
        torchport.parallelize(nn.Linear(4, 4), memory=100)
    os.environ["WORLD_SIZE"] = "2"
    try:
        with raises(RuntimeError, "WORLD_SIZE is 2, but RANK or MASTER_ADDR is missing"):
            torchport.parallelize(nn.Linear(4, 4))
    finally:
        del os.environ["WORLD_SIZE"]


run_checks()
