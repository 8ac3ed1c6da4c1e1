"""torchport.parallelize: gloo on the CPU, and nccl's stand-in on virtual devices."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "parallel.py"


def launched(run_program, program: str, processes: int, devices: str | None):
    starter = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    return run_program(program, python_args=starter, devices=devices, timeout=400, check=False)


@pytest.mark.parametrize(
    ("processes", "devices"),
    [(2, None), (4, None), (2, "cuda:2"), (4, "cuda:4")],
    ids=["2-gloo", "4-gloo", "2-virtual", "4-virtual"],
)
def test_every_strategy_trains_as_one_process_does(run_program, processes, devices):
    done = launched(run_program, "parallel.py", processes, devices)
    named = re.findall(r"^@check\ndef (\w+)", PROGRAM.read_text(), re.MULTILINE)
    passed = re.findall(r"^passed: (.*)$", done.stdout, re.MULTILINE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(passed) == sorted(named * processes), done.stdout


def test_one_process_is_single(run_program):
    run_program("parallel_single.py", devices="cuda:2")
