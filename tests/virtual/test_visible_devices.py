"""CUDA_VISIBLE_DEVICES in all its forms: every answer of torch agrees with the list of devices."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.own_process

Run = Callable[..., subprocess.CompletedProcess]

ALL = "import json, torch; print(json.dumps([str(torch.cuda.get_device_properties(i).uuid) for i in range(4)]))"
PROGRAM = """
import json, os, sys, torch
if len(sys.argv) > 1:  # set by the program itself, before CUDA is initialised
    os.environ["CUDA_VISIBLE_DEVICES"] = sys.argv[1]
counted = torch.cuda.device_count()
assert not torch.cuda.is_initialized()
assert torch.cuda.is_available() == (counted > 0)
assert torch._C._cuda_getDeviceCount() == counted, (torch._C._cuda_getDeviceCount(), counted)
if counted:
    torch.cuda.init()
    assert torch.ones(1, device=f"cuda:{counted - 1}").item() == 1
    assert torch.cuda.device_count() == counted
else:
    try:
        torch.cuda.init()
        raise SystemExit("no error")
    except RuntimeError as error:
        assert "No CUDA GPUs are available" in str(error), error
print(json.dumps([str(torch.cuda.get_device_properties(i).uuid) for i in range(counted)]))
"""

# `{0}` is the UUID of the first of four devices, `{0:.6}` its first six characters.
FORMS: dict[str, list[int]] = {
    "0,1,2,3": [0, 1, 2, 3],
    "3,1": [3, 1],
    " 2 , 0": [2, 0],
    "": [],
    "-1": [],
    "1,-1,2": [1],
    "2,9,0": [2],
    "none": [],
    "NoDevFiles": [],
    "1gpu,+3": [1, 3],
    "1,1": [],
    "0,2,0": [],
    "GPU-{2}": [2],
    "GPU-{3},GPU-{0}": [3, 0],
    "GPU-{1:.6},GPU-{0:.8}": [1, 0],
    "GPU-{1},GPU-{1}": [],
    "GPU-{1},GPU-{1:.8}": [],
    "GPU-": [],
    "GPU-{1},GPU-00000000-none,GPU-{0}": [1],
    "GPU-{1},0": [1],
    "0,GPU-{1}": [0],
    "MIG-GPU-{1}/1/0": [],
    "MIG-{1}": [],
    "GPU-{0},MIG-{1}": [0],
}


# Each value in a process of its own, which sets it before CUDA is initialised; torch is imported once.
IN_CHILDREN = """
import os, sys, torch
program, *values = sys.argv[1:]
for value in values:
    sys.stdout.flush()
    if os.fork() == 0:
        sys.argv[1:] = [value]
        exec(program)
        sys.stdout.flush()
        os._exit(0)
    assert os.wait()[1] == 0, value
"""
# A form of each class; a program that starts with one of the others is tried by `make test-long`.
AT_START = ("3,1", "", "2,9,0", "GPU-{1:.6},GPU-{0:.8}", "MIG-{1}")


@pytest.fixture(scope="module")
def uuids(run_once: Run) -> list[str]:
    found = json.loads(run_once(ALL, devices="cuda:4").stdout)
    assert len(set(found)) == 4
    return found


@pytest.fixture(scope="module")
def seen(run_once: Run, uuids: list[str]) -> dict[str, list[str]]:
    """The UUIDs that a program sees that sets a form."""
    values = [form.format(*uuids) for form in FORMS]
    done = run_once(IN_CHILDREN, devices="cuda:4", args=[PROGRAM, *values])
    return dict(zip(FORMS, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("form", FORMS)
def test_the_forms(seen: dict[str, list[str]], uuids: list[str], form: str) -> None:
    assert seen[form] == [uuids[number] for number in FORMS[form]]


@pytest.mark.parametrize(
    "form", [pytest.param(f, marks=[] if f in AT_START else pytest.mark.long) for f in FORMS]
)
def test_the_forms_in_the_environment(run_virtual: Run, uuids: list[str], form: str) -> None:
    value = form.format(*uuids)
    done = run_virtual(PROGRAM, devices="cuda:4", CUDA_VISIBLE_DEVICES=value)
    assert json.loads(done.stdout) == [uuids[number] for number in FORMS[form]]


CHILD = """
import os, sys, torch
def child(say):
    if os.fork() == 0:
        try:
            print(say, torch.ones(2).cuda().sum().item(), flush=True)
        except RuntimeError as error:
            print(say, error, flush=True)
        os._exit(0)
    assert os.wait()[1] == 0
"""
BAD = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use "
    "the 'spawn' start method"
)


def test_a_child_of_a_parent_that_only_counted_can_use_cuda(run_virtual: Run) -> None:
    done = run_virtual(CHILD + "torch.cuda.device_count(); child('counted')")
    assert done.stdout == "counted 2.0\n"


@pytest.mark.parametrize("by_nvml", [False, True])
def test_is_available_before_a_fork(run_virtual: Run, by_nvml: bool) -> None:
    """It does not initialise CUDA. The child can use CUDA only if PYTORCH_NVML_BASED_CUDA_CHECK asks
    for NVML (the documentation of torch.cuda.is_available)."""
    env = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"} if by_nvml else {}
    done = run_virtual(
        CHILD
        + "assert torch.cuda.is_available() and not torch.cuda.is_initialized(); child('asked')",
        **env,
    )
    assert done.stdout == ("asked 2.0\n" if by_nvml else f"asked {BAD}\n")


def test_a_child_of_a_parent_that_used_cuda_cannot(run_virtual: Run) -> None:
    done = run_virtual(
        CHILD + "torch.ones(1).cuda(); child('used'); print(torch.cuda.is_available())"
    )
    assert done.stdout == f"used {BAD}\nTrue\n"


def test_workers_of_a_loader(run_virtual: Run) -> None:
    code = """
import torch
class Data(torch.utils.data.Dataset):
    def __len__(self): return 2
    def __getitem__(self, i): return torch.ones(1).cuda().cpu()
def load():
    try:
        print([batch.tolist() for batch in torch.utils.data.DataLoader(Data(), num_workers=1)])
    except RuntimeError as error:
        print(str(error).splitlines()[-1])
torch.cuda.device_count()
load()
torch.cuda.init()
load()
"""
    done = run_virtual(code)
    assert done.stdout == f"[[[1.0]], [[1.0]]]\nRuntimeError: {BAD}\n"


def test_spawned_children_can_use_cuda(run_virtual: Run) -> None:
    code = """
import os, torch, torch.multiprocessing as mp
def work(rank):
    os.write(1, f"{torch.ones(2).cuda(rank).sum().item()}\\n".encode())  # in one piece
if __name__ == "__main__":
    torch.cuda.init()
    mp.spawn(work, nprocs=2)
"""
    assert run_virtual(code).stdout == "2.0\n2.0\n"
