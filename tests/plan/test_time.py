"""`torchport plan`: roughly how long a step takes on the device of the profile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from planning_programs import torchport

SIZE = 8192
PROGRAM = f"""
import torch
x = torch.randn({SIZE}, {SIZE}, device="cuda", dtype=torch.bfloat16, requires_grad=True)
"""


def time_of(program: str, tmp_path: Path, *words: str, profile: str = "h100-80g") -> dict:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM + program)
    run = torchport("plan", "--profile", profile, "--format", "json", *words, path)
    assert run.returncode == 0, run.stderr
    (device,) = json.loads(run.stdout)["devices"]
    return device["time"]


def test_a_product_takes_its_operations_at_the_peak(tmp_path: Path) -> None:
    time = time_of("with torch.no_grad():\n    for _ in range(100): y = x @ x\n", tmp_path)
    assert time["unit"] == "program" and time["bound_by"] == "compute"
    seconds = 100 * 2 * SIZE**3 / 989e12
    assert time["at_peak"]["compute"] == pytest.approx(seconds, rel=0.01)
    least, most = time["seconds"]
    assert seconds <= least < 1.1 * seconds and 2 * seconds < most < 10 * seconds


def test_a_sum_takes_its_bytes_at_the_bandwidth(tmp_path: Path) -> None:
    time = time_of("with torch.no_grad():\n    for _ in range(100): y = x + x\n", tmp_path)
    assert time["bound_by"] == "memory"
    # Two are read and one is written.
    seconds = 100 * 3 * 2 * SIZE**2 / (2 * 2.619e9 * 5120 / 8)
    assert time["at_peak"]["memory"] == pytest.approx(seconds, rel=0.05)


def test_small_operators_wait_for_the_host(tmp_path: Path) -> None:
    small = "y = torch.ones(8, device='cuda')\nfor _ in range(1000): y.add_(1)\n"
    assert time_of(small, tmp_path)["bound_by"] == "host"


STEPS = """
optimizer = torch.optim.SGD([x], lr=0.1)
for _ in range(STEPS):
    (x @ x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_the_last_step_is_told_however_many_there_are(tmp_path: Path) -> None:
    two, four = (time_of(STEPS.replace("STEPS", n), tmp_path) for n in ("2", "4"))
    assert two["unit"] == "step" and two == four
    assert two["at_peak"]["compute"] == pytest.approx(3 * 2 * SIZE**3 / 989e12, rel=0.01)


def test_ranks_take_time_to_communicate(tmp_path: Path) -> None:
    program = (
        "import torch.distributed as dist\ndist.init_process_group('nccl')\n"
        "with torch.no_grad():\n    for _ in range(10): dist.all_reduce(x)\n"
    )
    time = time_of(program, tmp_path, "--ranks", "8")
    assert time["bound_by"] == "communication"
    # A ring moves 2 (n-1)/n of the bytes over each link, in one direction of NVLink's 900 GB/s.
    seconds = 10 * 2 * 7 / 8 * 2 * SIZE**2 / 450e9
    assert time["at_peak"]["communication"] == pytest.approx(seconds, rel=0.01)


def test_a_profile_without_rates_tells_no_time(tmp_path: Path) -> None:
    card = tmp_path / "card.toml"
    card.write_text(
        'kind = "cuda"\nname = "mine"\ndevice-name = "Mine"\ncapability = "8.9"\n'
        'memory = "80 GiB"\nmultiprocessors = 100\nclock-mhz = 2500\n'
    )
    time = time_of("y = x @ x\n", tmp_path, profile=str(card))
    assert not time["is_known"]
    text = torchport("plan", "--profile", card, tmp_path / "program.py").stdout
    assert "the profile has no peak rates" in text
