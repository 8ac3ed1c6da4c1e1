"""torchport.parallelize under torchrun: gloo on the CPU, and nccl's stand-in on virtual devices."""

from __future__ import annotations

import re

import pytest

CHECKS = [
    "barriers_know_their_device",
    "copies_where_they_fit",
    "shards_where_copies_do_not_fit",
    "split_layers_where_a_block_is_too_large",
    "what_does_not_fit_is_refused",
    "wrappers_are_taken_off",
]


def launched(run_program, program: str, processes: int, devices: str | None):
    starter = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    return run_program(program, python_args=starter, devices=devices, timeout=400, check=False)


@pytest.mark.parametrize(
    ("processes", "devices"),
    [
        pytest.param(2, None, id="2-gloo"),
        pytest.param(4, None, id="4-gloo", marks=pytest.mark.long),
        pytest.param(2, "cuda:2", id="2-virtual"),
        pytest.param(4, "cuda:4", id="4-virtual", marks=pytest.mark.long),
    ],
)
def test_every_strategy_trains_as_one_process_does(run_program, processes, devices):
    done = launched(run_program, "parallel.py", processes, devices)
    passed = re.findall(r"^passed: (.*)$", done.stdout, re.MULTILINE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(passed) == sorted(CHECKS * processes), done.stdout
