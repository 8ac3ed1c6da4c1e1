"""One process stands for a rank: its memory is that of rank 0 of a real program of many."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from planning_programs import torchport

PROFILE = ("--profile", "a100-80g")
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2")
BEGINS = """
import os, torch, torch.distributed as dist
from torch import nn
dist.init_process_group("nccl")
world = dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
def layers(kind=nn.Linear):
    return nn.Sequential(*[nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)) for _ in range(4)])
def train(model, parameters=None):
    optimizer = torch.optim.AdamW(parameters or model.parameters())
    for _ in range(2):
        model(torch.randn(64, 512, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
"""
ENDS = """
if dist.get_rank() == 0:
    print("MOST", torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
dist.destroy_process_group()
"""
PROGRAMS = {
    "DistributedDataParallel": """
train(nn.parallel.DistributedDataParallel(layers().cuda()))
""",
    "fully_shard": """
from torch.distributed.fsdp import fully_shard
model = layers().cuda()
for layer in model:
    fully_shard(layer)
train(fully_shard(model))
""",
    "FullyShardedDataParallel": """
from torch.distributed.fsdp import FullyShardedDataParallel as Sharded
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
train(Sharded(layers(), device_id=torch.cuda.current_device(), use_orig_params=True,
              auto_wrap_policy=ModuleWrapPolicy({nn.Sequential})))
""",
    "tensor parallel": """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
model = layers().cuda()
mesh = init_device_mesh("cuda", (world,))
for layer in model:
    parallelize_module(layer, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
train(model)
""",
    "ZeroRedundancyOptimizer": """
from torch.distributed.optim import ZeroRedundancyOptimizer
model = nn.parallel.DistributedDataParallel(layers().cuda())
optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam)
for _ in range(2):
    model(torch.randn(64, 512, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    "collectives": """
x = torch.ones(1 << 20, device="cuda")
parts = [torch.empty_like(x) for _ in range(world)]
dist.all_gather(parts, x)
whole = torch.empty(world << 20, device="cuda")
dist.all_gather_into_tensor(whole, x)
dist.reduce_scatter_tensor(x, whole)
dist.all_to_all_single(whole, whole.clone())
dist.all_reduce(x)
dist.broadcast(x, 0)
half = dist.new_group(list(range(world // 2)))
if dist.get_rank() < world // 2:
    dist.all_reduce(x, group=half)
dist.barrier()
""",
}


def largest(output: str) -> tuple[int, int]:
    found = re.search(r"MOST (\d+) (\d+)", output)
    assert found, output
    return int(found[1]), int(found[2])


LONG = (
    "DistributedDataParallel",
    "FullyShardedDataParallel",
    "tensor parallel",
    "ZeroRedundancyOptimizer",
)


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=[pytest.mark.long] if one in LONG else []) for one in PROGRAMS],
)
def test_the_memory_is_that_of_a_real_rank(name: str, tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(BEGINS + PROGRAMS[name] + ENDS)
    words = ["run", "-q", *PROFILE, "--no-data", "--devices", "cuda:2"]
    alone = torchport(*words, "--ranks", "2", program)
    assert alone.returncode == 0, alone.stderr
    both = torchport(*words, "--", *TORCHRUN, program)
    assert both.returncode == 0, both.stderr
    assert largest(alone.stdout) == largest(both.stdout)


def test_what_alike_ranks_give_each_other(tmp_path: Path) -> None:
    program = tmp_path / "values.py"
    program.write_text(
        BEGINS
        + """
def told(*tensors):
    print(*[tensor.flatten().tolist() for tensor in tensors])
for device in ("cuda", "cpu"):
    group = dist.new_group(backend="gloo") if device == "cpu" else None
    def numbers(*values): return torch.tensor(values, device=device)
    x = numbers(1.0, 2.0)
    dist.all_reduce(x, group=group); told(x)
    dist.all_reduce(x, dist.ReduceOp.MAX, group=group); told(x)
    parts = [torch.zeros(2, device=device) for _ in range(world)]
    dist.all_gather(parts, x, group=group); told(*parts)
    one = torch.zeros(1, device=device)
    dist.reduce_scatter(one, [numbers(float(i + 5)) for i in range(world)], group=group); told(one)
    dist.broadcast(one, 0, group=group); told(one)
    received = [torch.ones(1, device=device) for _ in range(world)]
    dist.all_to_all(received, [numbers(float(i + 7)) for i in range(world)], group=group)
    told(*received)
    dist.scatter(one, [numbers(float(i + 3)) for i in range(world)], 0, group=group); told(one)
    dist.recv(one, 1, group=group); told(one)
objects = [None] * world
dist.all_gather_object(objects, {"rank": dist.get_rank()})
print(objects, world, os.environ["WORLD_SIZE"], dist.get_backend(), torch.cuda.device_count())
"""
    )
    run = torchport("run", "-q", "--ranks", "4", program)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    expected = [
        "[4.0, 8.0]",
        "[4.0, 8.0]",
        " ".join(["[4.0, 8.0]"] * 4),
        "[20.0]",
        "[20.0]",
        " ".join(["[7.0]"] * 4),
        "[3.0]",
        "[0.0]",
    ]
    assert lines[:-1] == expected * 2
    assert lines[-1] == f"{[{'rank': 0}] * 4} 4 4 nccl 4"


def test_the_report_says_that_the_others_are_assumed(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(BEGINS + PROGRAMS["fully_shard"] + ENDS)
    run = torchport("plan", "--ranks", "64", program)
    assert run.returncode == 0, run.stderr
    assert "this is rank 0 of 64; the other ranks are assumed to be alike" in run.stdout
    assert "one of cuda:0" not in run.stdout


@pytest.mark.parametrize("count", ["0", "-3", "many"])
def test_a_number_of_ranks_that_is_none(count: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    run = torchport("plan", "--ranks", count, "train.py", folder=tmp_path)
    assert run.returncode == 2


def test_torchrun_starts_ranks_by_itself(tmp_path: Path) -> None:
    run = torchport("plan", "--ranks", "8", "--", "torchrun", "train.py", folder=tmp_path)
    assert run.returncode == 2
    assert "without torchrun" in run.stderr
