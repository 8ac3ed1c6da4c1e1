"""What a long or a failing program sees."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

pytestmark = [pytest.mark.alone, pytest.mark.own_process]


def test_nothing_leaks(run_virtual):
    done = run_virtual(Path("leaks.py"), timeout=300)
    names = [line.removeprefix("flat: ") for line in done.stdout.splitlines()]
    assert names == ["allocations", "views and resizes", "training", "threads"]


def test_two_devices_in_one_process(run_virtual):
    assert run_virtual(Path("threads.py")).stdout.endswith("done\n")


def test_memory_of_the_host_is_not_doubled(run_virtual):
    program = Path("resnet_peak.py")
    cpu = json.loads(run_virtual(program, devices=None, args=["cpu"]).stdout)
    cuda = json.loads(run_virtual(program, args=["cuda"]).stdout)
    assert cuda["loss"] == cpu["loss"]
    grown, cpu_grown = cuda["peak"] - cuda["start"], cpu["peak"] - cpu["start"]
    assert grown <= 1.05 * cpu_grown
    # The device's own count is of tensors alone; kernels take memory of their own for the while.
    assert 0.5 * cpu_grown < cuda["cuda"] <= cpu_grown


def test_a_full_device_ends_the_program_as_cuda_does(run_virtual):
    code = """
import torch
held = []
while True:
    held.append(torch.empty(100 * 2**20, dtype=torch.uint8, device="cuda:1"))
"""
    done = run_virtual(code, devices="cuda:2,memory=1GiB", check=False)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 100.00 MiB. GPU 1 has a "
        "total capacity of 1024.00 MiB of which "
    ), last


def test_after_out_of_memory_a_program_goes_on(run_virtual):
    code = """
import torch
x = torch.ones(100 * 2**20, device="cuda")
try:
    y = x.double()
except torch.OutOfMemoryError:
    pass
else:
    raise SystemExit("400 MiB and 800 MiB fit into 1 GiB")
assert torch.cuda.memory_allocated() == 400 * 2**20
del x
y = torch.ones(200 * 2**20, device="cuda")
assert y.sum().item() == 200 * 2**20 and torch.cuda.memory_stats()["num_ooms"] == 1
print("went on")
"""
    assert run_virtual(code, devices="cuda:1,memory=1GiB").stdout == "went on\n"


@pytest.mark.parametrize("ends", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_killed_process_reports_its_signal(run_virtual, ends):
    code = f"""
import os, torch
x = torch.ones(10, device="cuda", requires_grad=True)
x.sum().backward()
os.kill(os.getpid(), {ends.value})
"""
    done = run_virtual(code, check=False)
    assert (done.returncode, done.stderr) == (-ends, "")


def test_a_program_that_fails_is_reported_up_to_there(run_virtual, tmp_path):
    code = """
import torch
held = torch.ones(100 * 2**20, dtype=torch.uint8, device="cuda")
torch.ones(2**30, dtype=torch.uint8, device="cuda")
"""
    report = tmp_path / "report.json"
    setting = f"json:{report}"
    done = run_virtual(code, devices="cuda:1,memory=1GiB", check=False, TORCHPORT_REPORT=setting)
    assert done.returncode == 1 and done.stderr.count("Traceback") == 1
    told = json.loads(report.read_text())
    assert told["devices"][0]["peak_allocated"] == 100 * 2**20


def test_a_rank_that_is_killed_ends_the_others(run_virtual):
    code = """
import os, signal, torch, torch.distributed as dist, torch.multiprocessing as mp

def body(rank, meeting):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=meeting, rank=rank, world_size=2)
    x = torch.ones(1, device="cuda")
    dist.all_reduce(x)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(x)

if __name__ == "__main__":
    mp.spawn(body, ("file://" + os.path.abspath("meeting"),), nprocs=2)
"""
    done = run_virtual(code, check=False)
    assert done.returncode == 1
    # Whichever of the two the parent sees first.
    assert "terminated with signal SIGKILL" in done.stderr or "Connection" in done.stderr


def test_workers_start_after_more_than_the_hosts_memory_was_asked_for(run_virtual):
    run_virtual(Path("workers_after_large.py"), devices="cuda:1,memory=1TiB")
