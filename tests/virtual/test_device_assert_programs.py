"""Errors in their own time: which calls tell of an assert, and how a program ends after one."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

import pytest
from torchport_run import AT_ONCE, LINE, TEXT, TORCHPORT, Run, run_in


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """run(code, *options, **env): as run_in, in the folder of the test."""
    return functools.partial(run_in, tmp_path)


def test_with_launch_blocking_the_call_raises(run: Run) -> None:
    code = (
        AT_ONCE
        + "try:\n    x[bad]\nexcept torch.AcceleratorError as error:\n    print(error)\nx * 2"
    )
    done = run(code, CUDA_LAUNCH_BLOCKING="1", check=False)
    assert done.returncode == 1
    assert LINE.search(done.stderr)
    told = "".join(TEXT.splitlines(keepends=True)[i] for i in (0, 1, 4))
    assert done.stdout.startswith(told)
    assert "program.py:6, in aten::index" in done.stdout
    assert (
        done.stderr.rstrip().rpartition("Traceback")[2].count("torch.AcceleratorError: CUDA") == 1
    )


@pytest.mark.parametrize("how", ["--errors=at-once", "enable"])
def test_errors_at_once_are_pythons(run: Run, run_virtual: Run, how: str) -> None:
    code = AT_ONCE + (
        "for call in (lambda: x[bad], lambda: F.embedding(bad, x)):\n"
        "    try:\n        call()\n"
        "    except IndexError as error:\n        print(error)\n"
        "print((x * 2).sum().item())"
    )
    done = run_virtual(code) if how == "enable" else run(code, how)
    assert done.stdout == (
        "index 7 is out of bounds for dimension 0 with size 2\nindex out of range in self\n30.0\n"
    )
    assert not LINE.search(done.stderr)


def test_errors_of_the_host_stay_immediate(run: Run) -> None:
    code = (
        AT_ONCE
        + """
mask = torch.tensor([True, False, True], device="cuda")
calls = {
    "shape": lambda: x.gather(1, bad[None].expand(5, 2)),
    "dtype": lambda: x.gather(1, bad[None].float()),
    "device": lambda: F.embedding(bad, x.cpu()),
    "dim": lambda: x.index_select(5, bad),
    "mask": lambda: x[mask],
    "number": lambda: x[7],
    "accumulate": lambda: x.index_put((bad,), x[0], accumulate=True),
    "empty": lambda: x[:0][bad],
    "classes": lambda: F.cross_entropy(x, bad[:1]),
    "matmul": lambda: x @ x,
    "bags": lambda: torch.embedding_bag(x[None], bad, bad * 0),
    "offsets": lambda: torch.embedding_bag(x, bad, bad[None] * 0),
    "unpooled": lambda: torch._C._nn.max_unpool2d(x[None, :, :2], bad[None, None], (2, 2)),
    "margins": lambda: F.multi_margin_loss(x, bad[:1]),
    "index by floats": lambda: x.index_put((bad.float(),), x[0]),
    "matrix of indices": lambda: x.index_select(0, bad[None]),
    "losses of integers": lambda: F.binary_cross_entropy(bad, bad),
    "scatters itself": lambda: x.scatter_(1, bad[None], x),
    "adds itself": lambda: x.scatter_add_(1, bad[None], x),
    "puts itself": lambda: x.put_(bad, x[0, :2]),
    "index_put of itself": lambda: x.index_put_((bad,), x[0]),
    "scattered": lambda: x.masked_scatter(x > 1, x[0, :2].double()),
}
for name, call in calls.items():
    try:
        call()
        print(name, "nothing")
    except (RuntimeError, IndexError, ValueError) as error:
        assert not isinstance(error, torch.AcceleratorError), name
        print(name.replace(" ", "_"), type(error).__name__)
        if "itself" in name:
            assert "refer to a single memory location" in str(error), (name, error)
torch.cuda.synchronize()
print(x.sum().item())
"""
    )
    done = run(code)
    told = dict(line.split() for line in done.stdout.splitlines()[:-1])
    assert "nothing" not in told.values(), told
    names = ("mask", "number", "accumulate", "dim", "empty")
    assert {told[name] for name in names} == {"IndexError"}
    assert done.stdout.endswith("15.0\n")
    assert not LINE.search(done.stderr)


def test_which_calls_tell(run: Run) -> None:
    """Each in a process of its own, because the first one that tells loses the device."""
    code = (
        AT_ONCE
        + """
import os, sys
torch.cuda._is_in_bad_fork = lambda: False  # only to start many processes quickly
event = torch.cuda.Event(); event.record()
here = torch.empty(2, 3); here_too = x.clone(); stream = torch.cuda.Stream()
pinned = torch.empty(2, 3, pin_memory=True)
tell = {
    "item": lambda: x[0, 0].item(), "cpu": x.cpu, "tolist": x.tolist, "print": lambda: repr(x),
    "bool": lambda: bool(x[0, 0]), "nonzero": x.nonzero, "mask": lambda: x[x > 1],
    "equal": lambda: torch.equal(x, here_too), "unique": x.unique, "copy to host": lambda: here.copy_(x),
    "copy from host": lambda: x.copy_(here), "event": event.synchronize, "query": event.query,
    "stream": stream.synchronize, "stream query": stream.query, "memory": torch.cuda.mem_get_info,
    "accelerator": torch.accelerator.synchronize, "device": torch.cuda.synchronize,
    "full cache": torch.cuda.empty_cache,
    "large": lambda: torch.empty(2**28, device="cuda"),
}
silent = {
    "view": lambda: x.t().reshape(-1), "start": lambda: x * 2, "sizes": lambda: x.shape,
    "to host": lambda: pinned.copy_(x, non_blocking=True), "small": lambda: torch.empty(3, device="cuda"),
    "empty_cache": torch.cuda.empty_cache,
    "allocated": torch.cuda.memory_allocated, "record": event.record, "host": lambda: here + 1,
}
for name, call in {**tell, **silent}.items():
    if os.fork():
        assert os.wait()[1] == 0, name
        continue
    if name == "full cache":
        torch.empty(1 << 24, device="cuda")  # and it is free again
    y = x[bad]
    try:
        call()
        told = False
    except torch.AcceleratorError as error:
        told = "device-side assert" in str(error)
    print(name if told == (name in tell) else f"WRONG {name}: {told}", flush=True)
    os._exit(0)
"""
    )
    done = run(code)
    assert "WRONG" not in done.stdout
    assert len(done.stdout.splitlines()) == 29


def test_a_call_with_more_than_the_assertion(run: Run) -> None:
    """What a kernel prints in words, and an allocation that fails leaves no cache behind."""
    code = (
        AT_ONCE
        + """
torch.repeat_interleave(bad - 3, output_size=3)
try:
    torch.zeros(1 << 24, device="cuda")
    print("no error")
except torch.AcceleratorError:
    torch.cuda.empty_cache()
    print(torch.cuda.memory_reserved() >> 20)
"""
    )
    done = run(code)
    assert done.stdout == "2\n"
    assert re.search(
        r"^\[CUDA_KERNEL_ASSERT\] /pytorch/aten/src/ATen/native/cuda/Repeat.cu:20: .*: Assertion "
        r"failed: `result_size == cumsum_ptr\[size - 1\]`: Invalid input! In `repeat_interleave`, "
        r"the `output_size` argument \(3\) must be the same as the sum",
        done.stderr,
        re.M,
    )


def test_a_lost_device_leaves_the_others(run: Run) -> None:
    code = (
        AT_ONCE
        + """
other = torch.ones(3, device="cuda:1")
y = x[bad]
torch.cuda.synchronize(1)
print((other * 2).tolist())
for call in (lambda: torch.cuda.synchronize(0), lambda: x.to("cuda:1"), lambda: x * 2):
    try:
        call()
        print("no error")
    except torch.AcceleratorError as error:
        print("on cuda:0" in str(error))
print((other * 3).tolist())
"""
    )
    done = run(code, "--devices", "cuda:2")
    assert done.stdout == "[2.0, 2.0, 2.0]\nTrue\nTrue\nTrue\n[3.0, 3.0, 3.0]\n"


def test_a_program_ends_by_its_traceback(run: Run) -> None:
    code = """
import torch
net = torch.nn.Sequential(torch.nn.Embedding(10, 4), torch.nn.Linear(4, 3)).cuda()
optimizer = torch.optim.Adam(net.parameters())
for step in range(3):
    words = torch.tensor([1, 2, 9 + step]).cuda()
    loss = torch.nn.functional.cross_entropy(net(words), torch.tensor([0, 1, 2]).cuda())
    loss.backward()
    optimizer.step()
    print(f"step {step}", loss.item())
"""
    done = run(code, "--devices", "cuda:1", check=False)
    assert done.returncode == 1
    assert done.stdout.startswith("step 0") and "step 1" not in done.stdout
    last = done.stderr.rpartition("Traceback (most recent call last):")[2]
    assert re.search(r"line (7|10), in <module>", last) and "device-side assert" in last
    assert "program.py:7, in aten::index_select" in done.stderr


def test_a_program_that_never_waits_ends_well(run: Run) -> None:
    done = run(AT_ONCE + "y = x[bad]\nprint('end')", check=False)
    assert (done.returncode, done.stdout) == (0, "end\n")
    assert LINE.search(done.stderr)


@pytest.mark.parametrize("threads", [False, True])
def test_a_backward_pass(run: Run, threads: bool) -> None:
    code = f"""
import torch
torch.autograd.set_multithreading_enabled({threads})
class Take(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad.gather(0, torch.tensor([0, 9], device="cuda"))
x = torch.ones(2, device="cuda", requires_grad=True)
Take.apply(x).sum().backward()
print(x.grad.shape)
try:
    print(x.grad.sum().item())
except torch.AcceleratorError as error:
    print("program.py:10, in aten::gather" in str(error))
"""
    done = run(code)
    assert done.stdout == "torch.Size([2])\nTrue\n"


def test_workers_of_a_loader_and_threads(run: Run) -> None:
    code = (
        AT_ONCE
        + """
import threading
def work():
    global y
    y = x[bad]
thread = threading.Thread(target=work); thread.start(); thread.join()
class Data(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, i): return torch.arange(4)[torch.tensor([i])]
print(sum(int(batch.sum()) for batch in torch.utils.data.DataLoader(Data(), num_workers=2)))
class Bad(Data):
    def __getitem__(self, i): return torch.arange(4)[torch.tensor([i + 3])]
try:
    for batch in torch.utils.data.DataLoader(Bad(), num_workers=1): pass
except IndexError as error:
    print("the CPU's own error")
try:
    y.cpu()
except torch.AcceleratorError as error:
    print("program.py:9, in aten::index" in str(error))
"""
    )
    assert run(code).stdout == "6\nthe CPU's own error\nTrue\n"


def test_the_report_names_the_place(run: Run, tmp_path: Path) -> None:
    run(AT_ONCE + "x[bad]", "--report", "text", "--report-file", "report.txt")
    report = (tmp_path / "report.txt").read_text()
    assert re.search(
        r"device-side assert: at \S*program.py:5, in aten::index on cuda:0: index 7", report
    )


def test_help_names_the_option() -> None:
    told = subprocess.run([TORCHPORT, "run", "--help"], capture_output=True, text=True, check=True)
    assert "--errors" in told.stdout and "at-once" in told.stdout


@pytest.mark.parametrize(
    ("make", "asserted"),
    [
        (
            "torch.sparse_coo_tensor(torch.tensor([[0, 5]]), torch.ones(2), (3,)).cuda().to_dense()",
            "Assertion `dstIndex < dstAddDimSize` failed.",
        ),
        (
            "torch.sparse_csr_tensor(torch.tensor([0, 5]), torch.tensor([0]), torch.ones(1), (1, 3), "
            "device='cuda', check_invariants=True)",
            "ValidateCompressedIndicesCommon.h",
        ),
    ],
)
def test_indices_of_sparse_tensors(run: Run, make: str, asserted: str) -> None:
    done = run(
        f"""
import torch
try:
    {make}
    torch.cuda.synchronize()
except torch.AcceleratorError as error:
    print(str(error).splitlines()[0])
"""
    )
    assert done.stdout.startswith("CUDA error: device-side assert triggered\n")
    assert asserted in done.stderr
