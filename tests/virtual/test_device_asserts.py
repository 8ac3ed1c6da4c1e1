"""Errors in their own time: what a kernel asserts is raised by the next call that waits."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

TORCHPORT = Path(sys.executable).with_name("torchport")

TEXT = """CUDA error: device-side assert triggered
Search for `cudaErrorAssert' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.
"""
LINE = re.compile(
    r"^/pytorch/aten/src/ATen/native/cuda/(\w+\.(?:cu|h)):(\d+:|) (\S+): block: \[\d+,\d+,\d+\], "
    r"thread: \[\d+,\d+,\d+\] Assertion `(.*)` failed\.$",
    re.M,
)

Run = Callable[..., subprocess.CompletedProcess]


def run_in(
    folder: Path,
    code: str,
    *options: str,
    args: Sequence[str] = (),
    check: bool = True,
    **env: str,
) -> subprocess.CompletedProcess:
    """The program under `torchport run` in the folder, ended."""
    path = folder / "program.py"
    path.write_text(code)
    settings = {k: v for k, v in os.environ.items() if not k.startswith("TORCHPORT_")}
    done = subprocess.run(
        [TORCHPORT, "run", "-q", *options, path.name, *args],
        cwd=folder,
        env=settings | {"OMP_NUM_THREADS": "1", **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """run(code, *options, **env): as run_in, in the folder of the test."""
    return functools.partial(run_in, tmp_path)


# Each is a program's expression, with the file, the kernel and the condition of the assertion, and
# the reason that torchport adds. `x` is [[0, 1, 2], [3, 4, 5]], `bad` is [1, 7], `wide` is [20, 8].
CASES = {
    "torch.nn.functional.embedding(bad, x)": (
        "Indexing.cu", "indexSelectSmallIndex", "srcIndex < srcSelectDimSize",
        "index 7 at [1] of index [2] is out of range for dimension 0 of a tensor [2, 3]",
    ),
    "wide.index_select(0, many)": (
        "IndexKernelUtils.cu", "vectorized_gather_kernel",
        'ind >=0 && ind < ind_dim_size && "vectorized gather kernel index out of bounds"',
        "index 20 at [3] of index [20] is out of range for dimension 0 of a tensor [20, 8]",
    ),
    "x.index_select(0, many)": (
        "ScatterGatherKernel.cu", "operator()",
        'idx_dim >= 0 && idx_dim < index_size && "scatter gather kernel index out of bounds"',
        "index 2 at [0] of index [20] is out of range for dimension 0 of a tensor [2, 3], and 2 more",
    ),
    "x.gather(1, bad[None])": (
        "ScatterGatherKernel.cu", "operator()",
        'idx_dim >= 0 && idx_dim < index_size && "scatter gather kernel index out of bounds"',
        "index 7 at [0, 1] of index [1, 2] is out of range for dimension 1 of a tensor [2, 3]",
    ),
    "x.scatter(1, bad[None], 1.0)": (
        "ScatterGatherKernel.cu", "operator()",
        'idx_dim >= 0 && idx_dim < index_size && "index out of bounds"', "index 7",
    ),
    "x.scatter_(1, bad[None], x + 1)": ("ScatterGatherKernel.cu", "operator()", "", "index 7"),
    "x.scatter_add(1, bad[None], x)": ("ScatterGatherKernel.cu", "operator()", "", "index 7"),
    "x.scatter_reduce(1, bad[None], x, 'amax')": (
        "ScatterGatherKernel.cu", "operator()", "", "index 7",
    ),
    "torch.nn.functional.one_hot(bad - 2, 3)": (
        "ScatterGatherKernel.cu", "operator()", "", "index -1 at [0, 0]",
    ),
    "x.index_add(1, bad, x[:, :2])": (
        "Indexing.cu", "indexFuncSmallIndex", "dstIndex < dstAddDimSize", "index 7 at [1]",
    ),
    "x.index_copy(1, bad, x[:, :2])": (
        "IndexKernel.cu", "operator()",
        'idx >= 0 && idx < self_dim_size && "index_copy_(): index out of bounds"', "index 7",
    ),
    "x.index_fill(1, bad, 0)": (
        "IndexKernel.cu", "operator()",
        'idx >= -self_dim_size && idx < self_dim_size && "index out of bounds"', "index 7",
    ),
    "x[bad]": (
        "IndexKernel.cu", "operator()",
        '-sizes[i] <= index && index < sizes[i] && "index out of bounds"',
        "index 7 at [1] of the index [2] is out of range for dimension 0 of a tensor [2, 3]",
    ),
    "x[0, bad]": ("IndexKernel.cu", "operator()", "", "index 7 at [1]"),
    "x.index_put((bad,), x[0])": ("IndexKernel.cu", "operator()", "", "index 7 at [1]"),
    "x.take(bad)": (
        "IndexKernel.cu", "operator()",
        'idx < numel && idx >= -numel && "cuda_take_put_kernel() index out of bounds"',
        "index 7 at [1] of index [2] is out of range for 6 elements",
    ),
    "x.put(bad, x[0, :2])": ("IndexKernel.cu", "operator()", "", "index 7 at [1]"),
    "F.cross_entropy(x, bad)": (
        "Loss.cu", "nll_loss_forward_reduce_cuda_kernel_2d", "t >= 0 && t < n_classes",
        "class 7 at [1] of target [2] is out of range for 3 classes",
    ),
    "F.cross_entropy(x, bad, reduction='none')": (
        "Loss.cu", "nll_loss_forward_no_reduce_cuda_kernel",
        "cur_target >= 0 && cur_target < n_classes", "class 7 at [1]",
    ),
    "F.cross_entropy(x[0], bad[1])": (
        "Loss.cu", "nll_loss_forward_reduce_cuda_kernel_1d", "t >= 0 && t < n_classes",
        "class 7 at []",
    ),
    "F.cross_entropy(x[:, :, None, None], bad[:, None, None])": (
        "NLLLoss2d.cu", "nll_loss2d_forward_kernel", "t >= 0 && t < n_classes",
        "class 7 at [1, 0, 0]",
    ),
    "F.binary_cross_entropy(x, x)": (
        "Loss.cu", "operator()", "input_val >= zero && input_val <= one",
        "2 at [0, 2] of input is not between 0 and 1, and 3 more are not",
    ),
    "F.binary_cross_entropy(x.sigmoid(), x)": (
        "Loss.cu", "operator()", "target_val >= zero && target_val <= one", "2 at [0, 2] of target",
    ),
    "torch._assert_async(x[0, 0])": (
        "TensorCompare.cu", "_assert_async_cuda_kernel", "", "is zero",
    ),
    "torch._assert_async(x[0, 0], 'my words')": (
        "TensorCompare.cu", "_assert_async_cuda_kernel", "my words", "is zero",
    ),
    "torch.multinomial(x - 1, 1)": (
        "TensorCompare.cu", "_assert_async_cuda_kernel",
        "probability tensor contains either `inf`, `nan` or element < 0", "is zero",
    ),
    "torch.multinomial(x / 0, 2, replacement=True)": (
        "MultinomialKernel.cu", "binarySearchForMultinomial",
        "cumdist[size - 1] > static_cast<scalar_t>(0)", "encountering probability entry",
    ),
    "torch.bernoulli(x)": (
        "DistributionTemplates.h", "operator()", "0 <= p2 && p2 <= 1",
        "probability 2 at [0, 2] is not between 0 and 1",
    ),
    "torch.repeat_interleave(bad - 3, output_size=3)": (
        "Repeat.cu", "compute_cuda_kernel", "result_size == cumsum_ptr[size - 1]",
        "output_size is 3, and the repeats sum up to 2",
    ),
    "F.embedding(bad, x, max_norm=1.0)": (
        "Indexing.cu", "indexSelectSmallIndex", "srcIndex < srcSelectDimSize", "index 7 at [1]",
    ),
    "F.embedding_bag(bad, x, torch.tensor([0, 1], device='cuda'))": (
        "EmbeddingBag.cu", "EmbeddingBag_updateOutputKernel_sum_mean",
        '!has_invalid_index && "Invalid input index in EmbeddingBag: index out of range '
        '[0, numRows)"',
        "index 7 at [1] of input [2] is out of range for 2 embeddings",
    ),
    "F.embedding_bag(bad[None], x, mode='max')": (
        "EmbeddingBag.cu", "EmbeddingBag_updateOutputKernel_max", "input[emb] < numRows", "index 7",
    ),
    "F.max_unpool2d(x[None, :, :2], bad.expand(1, 2, 2), 1, 1, output_size=(2, 2))": (
        "MaxUnpooling.cu", "max_unpooling2d_forward_kernel",
        "maxind >= 0 && maxind < outputImageSize",
        "index 7 at [0, 0, 1] of indices [1, 2, 2] is out of range for 4 elements of the output",
    ),
    "F.max_unpool3d(x[None, None, :, :2], bad.expand(1, 1, 2, 2), 1, 1)": (
        "MaxUnpooling.cu", "max_unpooling3d_forward_kernel",
        "index >= 0 && index < outputImageSize", "index 7 at [0, 0, 0, 1]",
    ),
    "F.multi_margin_loss(x, bad)": (
        "MultiMarginLoss.cu", "MultiMarginLoss_forward_kernel",
        'target_k >= 0 && target_k < dim && "target index is out of bounds"',
        "class 7 at [1] of target [2] is out of range for 3 classes",
    ),
    "x.masked_scatter(x > 1, x[0, :2])": (
        "IndexKernel.cu", "masked_scatter_size_check", "totalElements <= srcSize",
        "the mask takes 4 elements, and the source has 2",
    ),
}  # fmt: skip

TRY = """
import torch, torch.nn.functional as F
x = torch.arange(6.0, device="cuda").reshape(2, 3)
bad = torch.tensor([1, 7], device="cuda")
wide = torch.zeros(20, 8, device="cuda")
many = torch.arange(20, device="cuda").clamp(max=1)
many[0], many[3], many[5] = {many}
torch.cuda.synchronize()
y = {expression}  # here
print("went on")
later = x * 2  # starts a kernel and does not wait
for call in (torch.cuda.synchronize, x.cpu, lambda: x * 2, lambda: torch.zeros(3, device="cuda")):
    try:
        call()
        print("no error")
    except torch.AcceleratorError as error:
        assert error.error_code == 710, error.error_code
        print(str(error))
print(torch.zeros(2).tolist())
if isinstance(y, torch.Tensor):
    print(tuple(y.shape), y.dtype, y.device)
"""


# Each program in a process of its own, because it loses the device; torch is imported once.
IN_CHILDREN = """
import os, runpy, sys, torch
for name in sys.argv[1:]:
    if os.fork():
        assert os.wait()[1] == 0, name
        continue
    for number, kind in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{name}.{kind}", os.O_WRONLY | os.O_CREAT), number)
    runpy.run_path(f"{name}.py", run_name="__main__")
    sys.stdout.flush()
    os._exit(0)
"""


def program_of(expression: str) -> str:
    many = "1, 20, 1" if "wide" in expression else "2, 3, 2"
    return TRY.format(expression=expression, many=many)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """What the program of each case wrote to standard output and to standard error."""
    folder = tmp_path_factory.mktemp("cases")
    for number, expression in enumerate(CASES):
        (folder / f"case{number}.py").write_text(program_of(expression))
    names = [f"case{number}" for number in range(len(CASES))]
    run_in(folder, IN_CHILDREN, args=names)
    texts = [[(folder / f"{name}.{kind}").read_text() for kind in ("out", "err")] for name in names]
    return {expression: (out, err) for expression, (out, err) in zip(CASES, texts, strict=True)}


@pytest.mark.parametrize("expression", CASES)
def test_the_next_call_that_waits_raises(
    ended: dict[str, tuple[str, str]], expression: str
) -> None:
    file, kernel, condition, reason = CASES[expression]
    out, err = ended[expression]
    lines = LINE.findall(err)
    assert lines, err
    assert {(found[0], found[2]) for found in lines} == {(file, kernel)}
    assert not condition or {found[3] for found in lines} == {condition}
    told = [line for line in err.splitlines() if line.startswith("torchport: ")]
    assert len(told) == 1, err
    here = program_of(expression).splitlines().index(f"y = {expression}  # here")
    program = f"case{list(CASES).index(expression)}.py"
    assert f"{program}:{here + 1}, in aten::" in told[0]
    assert "on cuda:0" in told[0] and reason in told[0]
    assert out.startswith("went on\n" + TEXT)
    assert out.count(TEXT + told[0]) == 4
    assert "[0.0, 0.0]" in out, "the CPU stays usable"


AT_ONCE = """
import torch, torch.nn.functional as F
x = torch.arange(6.0, device="cuda").reshape(2, 3)
bad = torch.tensor([1, 7], device="cuda")
"""


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
