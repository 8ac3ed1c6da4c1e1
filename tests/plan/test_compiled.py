"""torch.compile on devices without data: inductor's buffers are taken, and its kernels are not computed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from planning_programs import torchport

# Trains a model and prints the most bytes that were allocated, and whether it was in one step.
TRAINS = """
import torch
from torch import nn
import torch.nn.functional as F
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(256), nn.Linear(256, 1024), nn.Linear(1024, 256)
    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))
model = nn.Sequential(nn.Embedding(1000, 256), Block(), Block(), nn.Linear(256, 1000)).cuda()
def loss_of(words):
    return F.cross_entropy(model(words).flatten(0, 1), words.flatten())
{compiles}
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    words = torch.randint(0, 1000, (32, 128)).cuda()
    loss = step(words)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(torch.cuda.max_memory_allocated())
"""
PLAIN = "step = loss_of"
SAID = "torchport: not exact: torch.compile: "


def peak(tmp_path: Path, compiles: str, *options: str) -> tuple[int, str]:
    (tmp_path / "train.py").write_text(TRAINS.format(compiles=compiles))
    run = torchport("run", "-q", "--profile", "h100-80g", *options, "train.py", folder=tmp_path)
    assert run.returncode == 0, run.stderr
    return int(run.stdout.split()[-1]), run.stderr


@pytest.mark.long
def test_the_memory_is_that_of_what_inductor_compiles(tmp_path: Path) -> None:
    compiles = "step = torch.compile(loss_of)"
    computed, _ = peak(tmp_path, compiles)
    planned, said = peak(tmp_path, compiles, "--no-data")
    eager, _ = peak(tmp_path, PLAIN, "--no-data")
    assert planned == computed < 0.9 * eager
    assert said.count(SAID) == 1


@pytest.mark.parametrize(
    "compiles",
    [
        pytest.param(
            "step = torch.compile(loss_of, fullgraph=True, dynamic=True)", marks=pytest.mark.long
        ),
        pytest.param(
            "step = torch.compile(loss_of, mode='reduce-overhead')", marks=pytest.mark.long
        ),
        pytest.param("step = torch.compile(loss_of, mode='max-autotune')", marks=pytest.mark.long),
        pytest.param(
            "step = torch.compile(loss_of, options={'shape_padding': True, 'triton.cudagraphs': False})",
            marks=pytest.mark.long,
        ),
        "@torch.compile\ndef step(words): return loss_of(words)",
        pytest.param("model.compile(); step = loss_of", marks=pytest.mark.long),
        "def broken(words):\n"
        "    found = loss_of(words)\n"
        "    torch._dynamo.graph_break()\n"
        "    return found * 2 if found.item() < 1 else found\n"
        "step = torch.compile(broken)",
    ],
)
def test_ways_to_compile(tmp_path: Path, compiles: str) -> None:
    planned, said = peak(tmp_path, compiles, "--no-data")
    eager, _ = peak(tmp_path, PLAIN, "--no-data")
    assert planned < 1.01 * eager
    assert said.count(SAID) == 1


# A model's calls in CUDA graphs, one of them of another size; what is there after each step.
GRAPHS = """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)).cuda()
step = torch.compile(lambda x: model(x).square().mean(), mode="reduce-overhead")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for count in (1024, 1024, 1024, 512, 512, 1024):
    torch.compiler.cudagraph_mark_step_begin()
    loss = step(torch.ones(count, 512, device="cuda"))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    stats = torch.cuda.memory_stats()
    print("STEP", *(stats[f"{kind}_bytes.all.{when}"] for kind in ("allocated", "reserved")
                    for when in ("current", "peak")))
pools = {segment["segment_pool_id"] for segment in torch.cuda.memory_snapshot()}
print("STEP", len(pools))
"""


@pytest.mark.long
def test_graphs_keep_their_pools(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(GRAPHS)
    told = []
    for options in ((), ("--no-data",)):
        run = torchport("run", "-q", "--profile", "h100-80g", *options, "train.py", folder=tmp_path)
        assert run.returncode == 0, run.stderr
        told.append([line for line in run.stdout.splitlines() if line.startswith("STEP")])
    assert told[0] == told[1]
    assert told[0][-1] == "STEP 2"  # the default pool, and one for all graphs


@pytest.mark.parametrize("backend", [pytest.param("eager", marks=pytest.mark.long), "aot_eager"])
def test_other_backends_are_as_they_are(tmp_path: Path, backend: str) -> None:
    planned, said = peak(
        tmp_path, f"step = torch.compile(loss_of, backend={backend!r})", "--no-data"
    )
    eager, _ = peak(tmp_path, PLAIN, "--no-data")
    assert planned == pytest.approx(eager, rel=0.1)
    assert SAID not in said


@pytest.mark.long
def test_a_plan_says_that_it_is_not_exact(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINS.format(compiles="step = torch.compile(loss_of)"))
    run = torchport("plan", "--format", "json", "train.py", folder=tmp_path)
    assert run.returncode == 0, run.stderr
    plan = json.loads(run.stdout[run.stdout.index("{") :])
    assert [why.partition(":")[0] for why in plan["uncertain"]] == ["torch.compile"]
    assert not [one for one in plan["missing_values"] if one["kind"] == "computed on zeros"]
    text = torchport("plan", "train.py", folder=tmp_path).stdout
    assert text.count("not exact: torch.compile: ") == 1


def test_kernels_take_the_time_of_their_arguments(tmp_path: Path) -> None:
    size = 8192
    (tmp_path / "fused.py").write_text(
        "import torch\n"
        "@torch.compile\n"
        "def fused(x, y): return (x + y) * 2 - y.sin()\n"
        f"x, y = (torch.randn({size}, {size}, device='cuda') for _ in range(2))\n"
        "fused(x, y)\n"
        "torch.ops.torchport.end_of_work('program')\n"
        "for _ in range(10): fused(x, y)\n"
    )
    words = ("plan", "--profile", "h100-80g", "--format", "json", "fused.py")
    run = torchport(*words, folder=tmp_path)
    assert run.returncode == 0, run.stderr
    (device,) = json.loads(run.stdout[run.stdout.index("{") :])["devices"]
    time = device["time"]
    # Two are read and one is written, by one kernel.
    seconds = 10 * 3 * 4 * size**2 / (2 * 2.619e9 * 5120 / 8)
    assert time["at_peak"]["memory"] == pytest.approx(seconds, rel=0.01)
    assert time["operators"] == 10 and time["bound_by"] == "memory"


def test_what_has_values_is_computed(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(
        "import torch\n"
        "@torch.compile\n"
        "def small(x): return torch.relu(x - 2).cumsum(0) * 2\n"
        "@torch.compile\n"
        "def sums(x): return x.exp().sum(-1)\n"
        "print(small(torch.arange(5.0, device='cuda')).tolist())\n"
        "print((sums(torch.randn(3, 100_000, device='cuda')) + 1).tolist())\n"
        "print(small(torch.arange(5.0)).tolist(), sums(torch.zeros(3, 100_000)).tolist())\n"
    )
    run = torchport("run", "-q", "--no-data", "small.py", folder=tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        "[0.0, 0.0, 0.0, 2.0, 6.0]",
        "[1.0, 1.0, 1.0]",
        "[0.0, 0.0, 0.0, 2.0, 6.0] [100000.0, 100000.0, 100000.0]",
    ]
