"""`torchport plan` and `torchport run --no-data`: the memory of programs that are not computed."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
from planning_programs import torchport

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
PROFILE = ("--profile", "h100-80g")


def measured(file: Path, *words: object, data: bool) -> dict:
    options = [*PROFILE, *([] if data else ["--no-data"])]
    run = torchport(
        "run", "-q", *options, "--", sys.executable, HERE / "measure.py", file, *words
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    with gzip.open(file) as stream:
        return json.load(stream)


@pytest.mark.parametrize(
    "words",
    [
        "layers.py --model gan --batch 8 --width 128 --steps 2",
        "layers.py --model lstm --batch 8 --length 64 --width 256 --steps 2",
        pytest.param(
            "layers.py --model gru --batch 4 --length 32 --width 512 --layers 3 --steps 2",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "layers.py --model graph --batch 8 --width 128 --steps 2", marks=pytest.mark.long
        ),
        pytest.param(
            "layers.py --model sound --batch 2 --length 100 --width 128 --steps 2",
            marks=pytest.mark.long,
        ),
        "recommender.py --rows 5000 --batch 512 --tables 8 --steps 2",
    ],
)
def test_every_allocation_is_as_if_it_were_computed(tmp_path: Path, words: str) -> None:
    program, *arguments = words.split()
    with_data, without = (
        measured(tmp_path / f"{data}.gz", PROGRAMS / program, *arguments, data=data)
        for data in (True, False)
    )
    sizes = [[event[:2] for event in one["events"]] for one in (with_data, without)]
    assert sizes[0] == sizes[1]
    assert without["allocated"] == with_data["allocated"] > 50 << 20
    assert without["reserved"] == with_data["reserved"]


# The figures that an H100 measured for these programs (recorded/, torch 2.11).
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("graph", "layers.py --model graph --layers 4 --batch 64"),
        pytest.param("lstm-b64", "layers.py --model lstm --batch 64", marks=pytest.mark.long),
        pytest.param("gan-b128", "layers.py --model gan --batch 128", marks=pytest.mark.long),
        pytest.param("dlrm-sgd", "recommender.py", marks=pytest.mark.long),
        ("unet-sample", "diffusion.py --model unet --batch 16 --sample --steps 5"),
    ],
)
def test_a_real_device_needed_as_much(tmp_path: Path, name: str, words: str) -> None:
    program, *arguments = words.split()
    found = measured(tmp_path / "plan.gz", PROGRAMS / program, *arguments, data=False)
    with gzip.open(HERE / "recorded" / f"{name}.json.gz") as stream:
        real = json.load(stream)
    assert [real["program"], *real["arguments"]] == words.split()
    assert abs(found["allocated"] / real["allocated"] - 1) < 0.05


TRAINS = """
import torch
from torch import nn
import sys
batch = int(sys.argv[1]) if len(sys.argv) > 1 else 64
model = nn.Sequential(nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 4096)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    x = torch.randn(batch, 4096).cuda()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("loss", loss.item())
"""
WEIGHTS = (4096 * 4096 + 4096) * 4 * 2  # bytes


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(TRAINS)
    return path


def test_a_plan_says_who_holds_the_memory(program: Path) -> None:
    run = torchport("plan", *PROFILE, "--format", "json", "train.py", folder=program.parent)
    assert run.returncode == 0, run.stderr
    plan = json.loads(run.stdout[run.stdout.index("{") :])
    assert plan["verdict"] == "fits"
    (device,) = plan["devices"]
    held = {}
    for row in device["rows"]:
        held[row["holds"]] = held.get(row["holds"], 0) + row["bytes"]
    assert held["parameters"] == held["gradients"] == WEIGHTS
    assert held["optimizer states"] == pytest.approx(2 * WEIGHTS, rel=1e-4)
    states = [row for row in device["rows"] if row["holds"] == "optimizer states"]
    assert {row["line"] for row in states} == {"train.py:12"}
    assert [one["line"] for one in plan["missing_values"] if one["kind"] == "read"] == [
        "train.py:14"
    ]
    # Values that are not there are 0, and said to be.
    assert run.stdout.count("loss 0.0") == 2
    text = torchport("plan", *PROFILE, "train.py", folder=program.parent).stdout
    assert "torchport: fits, " in text and "optimizer states  train.py:12" in text


def test_a_plan_names_the_line_that_runs_out(program: Path) -> None:
    run = torchport("plan", "--memory", "500MiB", "train.py", folder=program.parent)
    assert run.returncode == 1
    assert "torchport: does not fit: no room for 64.00 MiB on cuda:0 at train.py:12" in run.stdout
    # Reserved memory may fit where the process with its CUDA context does not.
    run = torchport("plan", "--memory", "1300MiB", "train.py", folder=program.parent)
    assert run.returncode == 1
    assert "torchport: may not fit: needs " in run.stdout or "does not fit" in run.stdout


def test_profiles_are_compared(program: Path) -> None:
    run = torchport("plan", "--profile", "h100-80g,t4", "train.py", folder=program.parent)
    assert run.returncode == 0
    rows = [line.split()[0] for line in run.stdout.splitlines()]
    assert rows == ["profile", "h100-80g", "t4"]


def test_the_largest_batch_that_fits(program: Path) -> None:
    words = ["--memory", "4GiB", "--search", "batch=16..47", "train.py", "{batch}000"]
    run = torchport("plan", *words, folder=program.parent)
    assert run.returncode == 0, run.stdout + run.stderr
    *_, told = run.stdout.splitlines()
    largest = int(told.removeprefix("the largest batch that fits: "))
    # Five times the weights of 128 MiB and the context are there; the rest takes four tensors or
    # so of 16 KiB for each example.
    assert 20 <= largest < 47
    for batch, fits in ((f"{largest}000", True), (f"{largest + 1}000", False)):
        one = torchport("plan", "--memory", "4GiB", "train.py", batch, folder=program.parent)
        assert (one.returncode == 0) == fits, one.stdout


def test_memory_of_the_host_stays_small(tmp_path: Path) -> None:
    program = tmp_path / "large.py"
    program.write_text(
        "import resource, torch\n"
        "model = torch.nn.Sequential(*[torch.nn.Linear(16384, 16384) for _ in range(24)]).cuda()\n"
        "model(torch.randn(256, 16384, device='cuda')).sum().backward()\n"
        "print(torch.cuda.max_memory_allocated() >> 30,"
        " resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)\n"
    )
    run = torchport("run", "-q", *PROFILE, "--no-data", program)
    device, host = map(int, run.stdout.split())
    assert device >= 48
    assert host < 2048, "MiB"


def test_small_tensors_that_are_broadcast_give_a_large_one(tmp_path: Path) -> None:
    program = tmp_path / "broadcast.py"
    program.write_text(
        "import resource, torch\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "x = torch.zeros(2**20, 4096, device='cuda', requires_grad=True)\n"
        "x.mean().backward()\n"  # divides an expanded number
        "row = torch.arange(8000, device='cuda')\n"
        "mask = row[:, None] <= row\n"
        "scaled = row.expand(2**17, 8000) * 0.5\n"
        "chosen = torch.where(row > 7, row, row.new_zeros(2**17, 1))\n"
        "print(torch.cuda.max_memory_allocated() >> 30,"
        " (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)\n"
        "few = row[:100]\n"
        "print((few[:, None] <= few).sum().item(), (few.expand(9, 100) * 2).max().item())\n"
    )
    run = torchport("run", "-q", *PROFILE, "--no-data", program)
    assert run.returncode == 0, run.stderr
    sizes, values = run.stdout.splitlines()
    device, host = map(int, sizes.split())
    assert device >= 43
    assert host < 1024, "MiB"
    assert values == "5050 198"


def test_results_whose_size_depends_on_values_are_as_large_as_they_can_be(tmp_path: Path) -> None:
    program = tmp_path / "masks.py"
    program.write_text(
        "import torch\n"
        "x = torch.randn(100, 1000, device='cuda')\n"
        "mask = x > 0\n"
        "print(tuple(mask.nonzero().shape), tuple(x[mask].shape), tuple(x.masked_select(mask).shape),\n"
        "      x.unique().numel(), x.sum().item(), bool((x > 0).any()))\n"
        "small = torch.arange(10, device='cuda')\n"
        "print(small.sum().item(), (small > 4).nonzero().flatten().tolist())\n"
        "x[mask] = 1\n"
        "y = x.cpu()\n"
        "print(y.abs().max().item(), torch.equal(x, x + 1))\n"
    )
    run = torchport("run", "-q", "--no-data", program)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [
        "(100000, 2) (100000,) (100000,) 100000 0.0 False",
        "45 [5, 6, 7, 8, 9]",
        "0.0 True",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to plan"),
        (["missing.py"], "no such file"),
        (["--profile", "h1000", "train.py"], "is not a profile"),
        (["--search", "batch", "train.py"], "write NAME=LEAST..MOST"),
        (["--search", "batch=5..2", "train.py"], "write NAME=LEAST..MOST"),
        (["--keep-data", "much", "train.py"], "much"),
    ],
)
def test_wrong_words(program: Path, words: list[str], said: str) -> None:
    run = torchport("plan", *words, folder=program.parent)
    assert run.returncode == 2
    assert said in run.stderr


@pytest.mark.own_process  # whether torch is imported
def test_a_program_that_fails_by_itself(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "import torch\ntorch.zeros(8).cuda()\nraise SystemExit(7)\n"
    )
    run = torchport("plan", "broken.py", folder=tmp_path)
    assert run.returncode == 7
    for source, why in (
        ("print('no device')\n", "told nothing: it did not import torch"),
        ("import torch\n", "used no memory of a device"),
    ):
        (tmp_path / "host.py").write_text(source)
        run = torchport("plan", "host.py", folder=tmp_path)
        assert run.returncode == 3
        assert why in run.stderr


def test_gradients_have_their_name_without_an_optimizer(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("""
import torch
model = torch.nn.Linear(4096, 4096, device="cuda")
for _ in range(2):
    model.zero_grad()
    model(torch.randn(64, 4096, device="cuda")).sum().backward()
    for parameter in model.parameters():
        parameter.data.add_(parameter.grad, alpha=-0.1)
model.zero_grad()
""")
    run = torchport("plan", *PROFILE, "--format", "json", "train.py", folder=tmp_path)
    assert run.returncode == 0, run.stderr
    (device,) = json.loads(run.stdout[run.stdout.index("{") :])["devices"]
    gradients = sum(row["bytes"] for row in device["rows"] if row["holds"] == "gradients")
    assert gradients == (4096 * 4096 + 4096) * 4
