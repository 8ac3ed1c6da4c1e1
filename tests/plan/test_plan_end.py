"""How `torchport plan` ends programs that train for long: by steps, by time, by Ctrl-C; and how it makes them short."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TORCHPORT = Path(os.environ.get("TORCHPORT_BINARY", Path(sys.executable).parent / "torchport"))

# It would train for hours: no test can wait for its end. It catches what it can, as programs do that
# write a last checkpoint.
ENDLESS = """
import sys, torch
from torch import nn
model = nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.AdamW(model.parameters())
try:
    for step in range(10_000_000):
        print("step", step, flush=True)
        optimizer.zero_grad()
        model(torch.randn(64, 1024, device="cuda")).square().mean().backward()
        optimizer.step()
finally:
    print("last checkpoint", flush=True)
"""

EPOCHS = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.randn(4096, 256))
train, test = DataLoader(data, batch_size=4, num_workers=1), DataLoader(data, batch_size=1024)
model = nn.Linear(256, 256).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
print("lengths", len(train), len(test))
for epoch in range(3):
    for (x,) in train:
        model(x.cuda()).sum().backward()
        optimizer.step()
    with torch.no_grad():
        print("tested", sum(len(model(x.cuda())) for (x,) in test))
print("all epochs")
"""

RANKS = """
import os, torch
import torch.distributed as dist
from torch import nn
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = nn.parallel.DistributedDataParallel(nn.Linear(512, 512).cuda())
optimizer = torch.optim.AdamW(model.parameters())
while True:
    model(torch.randn(32, 512, device="cuda")).mean().backward()
    optimizer.step()
"""


def plan(folder: Path, source: str, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(source)
    return subprocess.run(
        [str(TORCHPORT), "plan", "--profile", "h100-80g", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def read(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    told: dict[str, Any] = json.loads("{" + ("\n" + run.stdout).partition("\n{")[2])
    return told


def test_a_program_ends_before_the_step_after_the_last(tmp_path: Path) -> None:
    run = plan(tmp_path, ENDLESS, "--steps", "2", "--format", "json", "train.py")
    assert run.returncode == 0, run.stdout + run.stderr
    told = read(run)
    # The third step's gradients are there, so that all that a step needs was held at once.
    assert [line for line in run.stdout.splitlines() if line.startswith("step")] == [
        "step 0",
        "step 1",
        "step 2",
    ]
    assert "last checkpoint" not in run.stdout
    assert (told["ended_early"], told["steps"], told["verdict"]) == ("steps", 2, "fits")
    held = {row["holds"] for row in told["devices"][0]["rows"]}
    assert {"parameters", "gradients", "optimizer states"} <= held


def test_the_report_says_that_it_is_of_a_part(tmp_path: Path) -> None:
    run = plan(tmp_path, ENDLESS, "--steps", "1", "--html", "plan.html", "train.py")
    assert run.returncode == 0, run.stdout + run.stderr
    words = (
        "nded after 1 step of the optimizer, by --steps: what the program does later is not in this"
    )
    assert f"\ne{words}\n" in run.stdout
    assert f"<p>E{words}</p>" in (tmp_path / "plan.html").read_text()


def test_a_program_ends_after_a_time(tmp_path: Path) -> None:
    run = plan(tmp_path, ENDLESS, "--seconds", "5", "--format", "json", "train.py")
    assert run.returncode == 0, run.stdout + run.stderr
    told = read(run)
    assert told["ended_early"] == "seconds"
    assert told["steps"] > 0
    assert "last checkpoint" not in run.stdout


def test_epochs_are_short_and_reach_the_validation(tmp_path: Path) -> None:
    run = plan(tmp_path, EPOCHS, "--batches", "3", "--format", "json", "train.py")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "lengths 3 3\n" in run.stdout
    assert run.stdout.count("tested 3072\n") == 3
    assert "all epochs" in run.stdout
    told = read(run)
    assert (told["ended_early"], told["steps"], told["batches"]) == ("", 9, 3)
    # What the validation took: a batch of it, and the result.
    assert told["devices"][0]["allocated"] > 2 * 1024 * 256 * 4


def test_loaders_with_workers_end_with_the_program(tmp_path: Path) -> None:
    run = plan(tmp_path, EPOCHS, "--steps", "5", "--batches", "4", "train.py")
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("tested") == 1
    assert (
        "by --steps: what the program does later is not in this; each pass over a DataLoader had at most 4 "
        "batches, by --batches\n" in run.stdout
    )


@pytest.mark.parametrize(
    "limit", [("--steps", "2"), pytest.param(("--seconds", "8"), marks=pytest.mark.long)]
)
def test_all_ranks_end(tmp_path: Path, limit: tuple[str, str]) -> None:
    run = plan(
        tmp_path,
        RANKS,
        *("--devices", "cuda:2", *limit, "--format", "json"),
        *("--", sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "train.py"),
    )
    assert run.returncode == 0, run.stdout + run.stderr
    told = read(run)
    assert [one["device"] for one in told["devices"]] == ["cuda:0", "cuda:1"]
    assert told["ended_early"] == limit[0].removeprefix("--")


def test_a_search_takes_programs_without_an_end(tmp_path: Path) -> None:
    program = ENDLESS.replace("torch.randn(64,", "torch.randn(int(sys.argv[1]) * 2**20,")
    run = plan(tmp_path, program, "--search", "n=1..8", "--steps", "1", "train.py", "{n}")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "the largest n that fits: " in run.stdout


def test_ctrl_c_ends_it_with_a_report(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(ENDLESS)
    process = subprocess.Popen(
        [str(TORCHPORT), "plan", "--profile", "h100-80g", "train.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    while not process.stdout.readline().startswith("step 3"):
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "\nended by Ctrl-C after " in out
    assert "so that this is only what it had until then\n" in out
    assert "the program failed" not in out


FAILS = """
import torch
x = torch.ones(1024, 1024, device="cuda")
raise ValueError("no such dataset")
"""


def test_a_program_that_failed_does_not_fit(tmp_path: Path) -> None:
    run = plan(tmp_path, FAILS, "train.py")
    assert run.returncode == 1
    assert "torchport: the program failed: ValueError: no such dataset\n" in run.stdout
    assert "fits," not in run.stdout
    run = plan(tmp_path, FAILS, "--profile", "t4", "train.py")  # one of two
    assert run.returncode == 1
    assert run.stdout.count("the program failed: ValueError: no such dataset\n") == 2


def test_a_program_that_failed_early_has_its_own_exit_code(tmp_path: Path) -> None:
    run = plan(tmp_path, "import torch\nraise SystemExit(7)\n", "train.py")
    assert run.returncode == 7
    assert "torchport: the program failed before it used memory of a device\n" in run.stderr


def test_json_begins_a_line(tmp_path: Path) -> None:
    source = "import torch\ntorch.ones(9, device='cuda')\nprint('[1/2]', end='')\n"
    run = plan(tmp_path, source, "--format", "json", "train.py")
    assert run.stdout.startswith("[1/2]\n{\n")


@pytest.mark.parametrize("words", [("--steps", "0"), ("--batches", "-1"), ("--seconds", "soon")])
def test_a_limit_is_a_positive_number(tmp_path: Path, words: tuple[str, str]) -> None:
    run = plan(tmp_path, "", *words, "train.py")
    assert run.returncode == 2
    assert f"{words[0]}: Value {words[1]} not in range 1 to " in run.stderr
    assert all(len(line) < 100 for line in run.stderr.splitlines())
