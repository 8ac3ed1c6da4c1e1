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


# From the host and back: what is pageable, then what is pinned.
MOVES = """
host = torch.zeros({size}, {size}, dtype=torch.bfloat16){pinned}
y = torch.empty_like(x, requires_grad=False)
main, side = torch.cuda.current_stream(), torch.cuda.Stream()
torch.ops.torchport.end_of_work("program")
for _ in range(10): {copy}
"""
LINK = 64e9  # PCIe 5.0 x16, one direction
COPIED = 10 * 2 * SIZE**2


def copied(tmp_path: Path, copy: str, pinned: str = "", profile: str = "h100-80g") -> dict:
    program = MOVES.format(size=SIZE, copy=copy, pinned=pinned)
    return time_of(program, tmp_path, profile=profile)


@pytest.mark.parametrize(
    ("copy", "bound"),
    [
        ("y.copy_(host)", "copies_from_host"),
        pytest.param("host.to('cuda')", "copies_from_host", marks=pytest.mark.long),
        pytest.param("host.copy_(y)", "copies_to_host", marks=pytest.mark.long),
        ("y.cpu()", "copies_to_host"),
    ],
)
def test_copies_take_the_link_to_the_host(tmp_path: Path, copy: str, bound: str) -> None:
    time = copied(tmp_path, copy)
    assert time["bound_by"] == bound
    assert time["at_peak"][bound] == pytest.approx(COPIED / LINK, rel=0.01)
    least, most = time["seconds"]
    assert least == pytest.approx(COPIED / LINK, rel=0.05)
    assert most == pytest.approx(COPIED / 1.4e9, rel=0.05)  # pageable


def test_what_is_converted_crosses_in_the_type_of_the_result(tmp_path: Path) -> None:
    time = copied(tmp_path, "host.to('cuda', torch.float32)")
    assert time["at_peak"]["copies_from_host"] == pytest.approx(2 * COPIED / LINK, rel=0.01)


def test_pinned_memory_is_copied_faster(tmp_path: Path) -> None:
    least, most = copied(tmp_path, "y.copy_(host)", ".pin_memory()")["seconds"]
    assert least == pytest.approx(COPIED / LINK, rel=0.05)
    assert most < 4 * least


@pytest.mark.parametrize("overlaps", [False, True])
@pytest.mark.parametrize("pinned", ["", ".pin_memory()"])
def test_only_a_copy_on_another_stream_overlaps(
    tmp_path: Path, pinned: str, overlaps: bool
) -> None:
    copy = "y.copy_(host, non_blocking=True)"
    if overlaps:
        copy = f"torch.cuda.set_stream(side); {copy}; torch.cuda.set_stream(main)"
    least, most = copied(tmp_path, f"{copy}; [x.detach() @ y for _ in range(20)]", pinned)[
        "seconds"
    ]
    computes, copies = 10 * 20 * 2 * SIZE**3 / 989e12, COPIED / LINK
    assert least == pytest.approx(computes if overlaps else computes + copies, rel=0.03)
    assert most > computes + copies


def test_the_link_may_be_another_than_pcie(tmp_path: Path) -> None:
    time = copied(tmp_path, "y.copy_(host)", profile="gh200")
    assert time["at_peak"]["copies_from_host"] == pytest.approx(COPIED / 450e9, rel=0.01)


def test_a_copy_on_the_device_reads_and_writes_it_once(tmp_path: Path) -> None:
    time = copied(tmp_path, "y.copy_(x.detach())")
    seconds = 10 * 2 * 2 * SIZE**2 / (2 * 2.619e9 * 5120 / 8)
    assert time["at_peak"]["memory"] == pytest.approx(seconds, rel=0.05)
    assert time["at_peak"]["copies_from_host"] == 0


def test_the_report_names_copies(tmp_path: Path) -> None:
    copied(tmp_path, "y.copy_(host)")
    text = torchport("plan", "--profile", "h100-80g", tmp_path / "program.py").stdout
    assert "what bounds it: copies from the host" in text


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
