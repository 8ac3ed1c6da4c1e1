"""Device-side asserts: which calls assert, with which words, told by the next call that waits."""

from __future__ import annotations

import pytest
from torchport_run import LINE, TEXT, run_in

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
