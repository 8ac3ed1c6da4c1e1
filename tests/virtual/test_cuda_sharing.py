"""Tensors on devices in several processes."""

from __future__ import annotations

from pathlib import Path

import pytest


def test_tensors_in_several_processes(run_virtual) -> None:
    run_virtual(Path("shim_sharing.py"))


ENDS_WITHOUT_DELAY = """
import os, sys, time
import torch, torch.multiprocessing as mp

def child(how, sent, seen):
    sent.put(torch.ones(1000, device="cuda"))
    seen.wait(60)
    if how == "killed":
        os.kill(os.getpid(), 9)

def rank(number, sent, seen):
    sent.put(torch.ones(10, device="cuda") * number)
    seen.wait(60)

if __name__ == "__main__":
    spawn = mp.get_context("spawn")
    kept = []
    for how in ("returns", "killed"):
        sent, seen = spawn.Queue(), spawn.Event()
        process = spawn.Process(target=child, args=(how, sent, seen))
        process.start()
        kept.append(sent.get(timeout=60))
        seen.set()
        process.join(30)  # the tensor is still here, so that its memory's manager lives
        print(how, process.exitcode, flush=True)
    sent, seen = spawn.Queue(), spawn.Event()
    ranks = mp.spawn(rank, args=(sent, seen), nprocs=2, join=False)
    kept += [sent.get(timeout=60) for _ in range(2)]
    seen.set()
    until = time.monotonic() + 30
    while not (done := ranks.join(timeout=5)) and time.monotonic() < until:
        pass
    print("spawn", done, sorted(int(one.sum()) for one in kept))
    del kept
"""


@pytest.mark.own_process
def test_a_process_that_has_sent_a_tensor_ends_for_its_parent(run_virtual, tmp_path) -> None:
    program = tmp_path / "sends.py"
    program.write_text(ENDS_WITHOUT_DELAY)
    done = run_virtual(program)
    assert done.stdout == "returns 0\nkilled -9\nspawn True [0, 10, 1000, 1000]\n"
