"""`torchport plan --what-if`: a change of the program is tried by running it with the change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from planning_programs import torchport

# What a case changes is a word of the program, so that its own change can be compared.
PROGRAM = """
import sys, torch
from torch import nn
from torch.utils.checkpoint import checkpoint
does = sys.argv[1:]
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(512, 2048), nn.Linear(2048, 512)
    def forward(self, x):
        return x + self.two(nn.functional.gelu(self.one(x)))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(6))
        self.head = nn.Linear(512, 1000)
    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if "checkpointing" in does else block(x)
        return self.head(x)
kind = torch.bfloat16 if "bfloat16" in does else torch.float32
net = Net().to(kind)
if "shard" not in does:
    net.cuda()
if "shard" in does:  # which moves one module after the other
    from torch.distributed.fsdp import fully_shard
    torch.distributed.init_process_group("nccl")
    for block in net.blocks:
        fully_shard(block)
    fully_shard(net)
made = {"sgd": torch.optim.SGD, "adafactor": torch.optim.Adafactor}
named = [made[word] for word in does if word in made] or [torch.optim.AdamW]
more = {"foreach": False} if "loop" in does else {}
optimizer = named[0](net.parameters(), lr=1e-3, **more)
x = torch.randn(4096, 512).cuda()
y = torch.zeros(4096, dtype=torch.long).cuda()
for _ in range(3):
    with torch.autocast("cuda", torch.bfloat16, enabled="autocast" in does):
        out = net(x.to(kind))
    loss = nn.functional.cross_entropy(out, y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
PROFILE = ("--profile", "a100-80g", "--format", "json")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    return path


def trials(*words: object, folder: Path | None = None) -> dict[str, dict]:
    run = torchport("plan", *PROFILE, *words, folder=folder)
    assert run.returncode == 0, run.stdout + run.stderr
    return {one["name"]: one for one in json.loads(run.stdout)}


def allocated(plan: dict) -> int:
    (device,) = plan["devices"]
    return device["allocated"]


@pytest.mark.parametrize(
    "asked",
    [
        ["bfloat16", "checkpointing+bfloat16+sgd"],
        pytest.param(["checkpointing", "autocast", "sgd", "loop"], marks=pytest.mark.long),
    ],
)
def test_a_change_saves_what_the_same_change_of_the_program_saves(
    program: Path, asked: list[str]
) -> None:
    tried = trials("--what-if", ",".join(asked), program)
    assert list(tried) == ["as it is", *asked]
    before = allocated(tried["as it is"]["plan"])
    for change in asked:
        own = torchport("plan", *PROFILE, program, *change.split("+"))
        assert own.returncode == 0, own.stderr
        found = allocated(tried[change]["plan"])
        assert found <= before if change == "loop" else found < before, change
        # The program's own may hold its input in both types.
        assert found == pytest.approx(allocated(json.loads(own.stdout)), rel=0.02), change


def test_sharding_is_that_of_the_programs_own(program: Path) -> None:
    tried = trials("--what-if", "shard:4", "--devices", "cuda:1", program)
    own = torchport("plan", *PROFILE, "--devices", "cuda:1", "--ranks", "4", program, "shard")
    assert own.returncode == 0, own.stderr
    found = allocated(tried["shard:4"]["plan"])
    assert found == allocated(json.loads(own.stdout)) < allocated(tried["as it is"]["plan"])


# A model of 512 MiB, of which blocks of 32 MiB and a head are sharded.
LARGE = """
import copy, sys, torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(2048, 4096) for _ in range(15))
        self.head = nn.Linear(2048, 4096)
        self.register_buffer("scale", torch.ones(1))
    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)[..., :2048]
        return self.head(x) * self.scale
{begins}
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
x = torch.zeros(2, 2048, device=next(net.parameters()).device, dtype=net.head.weight.dtype)
for _ in range(2):
    net(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
{ends}
"""


@pytest.mark.parametrize(
    "begins",
    [
        "net = Net(); net.head.to('cuda'); net.to(device='cuda')",
        pytest.param("net = Net().to('cuda', torch.float64).bfloat16()", marks=pytest.mark.long),
        pytest.param(
            "with torch.device('meta'): net = Net()\nnet = net.to_empty(device='cuda')",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "net = Net().cuda(); net.load_state_dict(Net().state_dict())\n"
            "assert next(net.parameters()).is_cuda and net.scale.item() == 1",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_sharded_model_is_at_no_time_on_a_device_as_a_whole(tmp_path: Path, begins: str) -> None:
    kind = "bfloat16" if "bfloat16" in begins else "float32"
    own = (
        "from torch.distributed.fsdp import fully_shard\n"
        f"torch.distributed.init_process_group('nccl')\nnet = Net().to(torch.{kind})\n"
        "for module in [*net.blocks, net]: fully_shard(module)"
    )
    for name, text in (("tried.py", begins), ("own.py", own)):
        (tmp_path / name).write_text(LARGE.replace("{begins}", text).replace("{ends}", ""))
    tried = trials("--what-if", "shard:8", "--devices", "cuda:1", tmp_path / "tried.py")
    whole = (512 << 20) // (2 if kind == "bfloat16" else 1)
    assert allocated(tried["as it is"]["plan"]) > whole
    run = torchport("plan", *PROFILE, "--devices", "cuda:1", "--ranks", "8", tmp_path / "own.py")
    assert run.returncode == 0, run.stderr
    (device,) = json.loads(run.stdout)["devices"]
    (found,) = tried["shard:8"]["plan"]["devices"]
    assert found["allocated"] == device["allocated"] < whole
    assert found["reserved"] == device["reserved"]
    # NCCL has more buffers among devices of one machine than over a network from the host's memory.
    of_machine, over_network = (
        next(part["least"] for part in one["parts"] if part["name"].startswith("NCCL"))
        for one in (found, device)
    )
    assert of_machine > over_network > 0


@pytest.mark.parametrize(
    "ends",
    [
        "other = Net().cuda(); other.head(x)",
        pytest.param("average = copy.deepcopy(Net().cuda())", marks=pytest.mark.long),
    ],
)
def test_a_model_that_is_not_sharded_counts_as_a_whole(tmp_path: Path, ends: str) -> None:
    program = tmp_path / "large.py"
    program.write_text(LARGE.replace("{begins}", "net = Net().cuda()").replace("{ends}", ends))
    tried = trials("--what-if", "shard:8", "--devices", "cuda:1", program)
    assert allocated(tried["shard:8"]["plan"]) > 512 << 20


def test_other_devices_stand_in_the_same_table(program: Path) -> None:
    run = torchport("plan", "--profile", "h100-80g", "--what-if", "t4,sgd+t4,cuda:2", program)
    assert run.returncode == 0, run.stderr
    rows = [line.split("  ")[0] for line in run.stdout.splitlines()[1:]]
    assert rows == ["as it is", "t4", "sgd+t4", "cuda:2"]


def test_a_change_that_changes_nothing_has_no_figures(tmp_path: Path) -> None:
    program = tmp_path / "infer.py"
    program.write_text(
        "import torch\nnet = torch.nn.Linear(2048, 2048).cuda()\n"
        "with torch.no_grad():\n    net(torch.ones(4, 2048).cuda())\n"
    )
    tried = trials("--what-if", "sgd,checkpointing,bfloat16", program)
    assert tried["sgd"]["not_done"] == "there is nothing in the program that sgd changes"
    assert tried["sgd"]["plan"] is None
    assert "checkpointing changes" in tried["checkpointing"]["not_done"]
    assert tried["bfloat16"]["not_done"] == ""


def test_a_program_that_does_not_run_with_a_change_says_why(tmp_path: Path) -> None:
    program = tmp_path / "strict.py"
    program.write_text(
        "import torch\nnet = torch.nn.Linear(2048, 2048).cuda()\n"
        "optimizer = torch.optim.Adam(net.parameters())\n"
        "net(torch.ones(4, 2048).cuda()).sum().backward()\noptimizer.step()\n"
        "assert net.weight.dtype == torch.float32, 'only float32'\n"
    )
    tried = trials("--what-if", "bfloat16,sgd", program)
    assert tried["bfloat16"]["not_done"] == (
        "the program does not run so: AssertionError: only float32"
    )
    assert tried["sgd"]["not_done"] == ""


def test_a_distributed_program_is_not_sharded_again(program: Path) -> None:
    tried = trials("--ranks", "2", "--what-if", "shard:2", program, "shard")
    assert "the program is distributed by itself" in tried["shard:2"]["not_done"]


@pytest.mark.parametrize(
    "asked",
    [
        ",",
        "checkpoint",
        "shard",
        "shard:",
        "shard:0",
        "shard:x",
        "ranks:-1",
        "sgd,,loop",
        "+",
        "shard:2+nothing",
        "ranks:4+shard:x",
    ],
)
def test_a_change_that_is_none(asked: str, program: Path) -> None:
    run = torchport("plan", "--what-if", asked, program)
    assert run.returncode == 2
    assert "is nothing to try; write `all`" in run.stderr
