"""Which types CUDA's kernels take and what they say of the others: what an H200 answered."""

from collections.abc import Callable

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:1")

F = torch.nn.functional
CUDA = torch.device("cuda")
words = torch.tensor([[3, 65535], [7, 0]], dtype=torch.uint16, device=CUDA)
eighths = torch.tensor([[0.5, -1.0], [2.0, float("nan")]], device=CUDA).to(torch.float8_e4m3fn)
halves = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.complex32, device=CUDA)
swap = torch.tensor([[1, 0], [0, 1]], device=CUDA)
floats = torch.ones(2, 2, device=CUDA)
numbers = torch.ones(2, 2, dtype=torch.int64, device=CUDA)
turns = torch.ones(2, 2, dtype=torch.complex64, device=CUDA)
image = torch.ones(1, 1, 4, 4, device=CUDA)


def bits(x: torch.Tensor) -> list[int]:
    kind = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[x.element_size()]
    return x.cpu().contiguous().view(kind).flatten().tolist()


@pytest.mark.parametrize("moved", [words, eighths, halves], ids=lambda x: str(x.dtype))
def test_elements_of_any_type_are_moved(moved: torch.Tensor) -> None:
    whole = bits(moved)
    assert bits(moved.flip(0)) == whole[2:] + whole[:2]
    assert bits(moved.gather(1, swap)) == [whole[1], whole[0], *whole[2:]]
    assert bits(torch.zeros_like(moved).scatter(1, swap, moved)) == [whole[1], whole[0], *whole[2:]]
    shuffled = F.channel_shuffle(moved.reshape(1, 4, 1, 1), 2)
    assert bits(shuffled) == [whole[0], whole[2], whole[1], whole[3]]


def test_what_only_cuda_computes() -> None:
    assert bits(words.index_select(0, swap[0])) == bits(words)[2:] + bits(words)[:2]
    assert words.trace().item() == 3 and floats.half().trace().item() == 2
    assert torch.count_nonzero(words).item() == 3 and torch.count_nonzero(eighths).item() == 4
    assert torch.eye(2, dtype=torch.uint16, device=CUDA).tolist() == [[1, 0], [0, 1]]
    assert torch.equal(halves, halves.clone()) and not torch.equal(halves, halves * 2)
    assert torch.isin(words, words[0]).tolist() == [[True, True], [False, False]]
    assert torch.isin(halves, halves[0]).tolist() == [[True, True], [False, False]]
    assert torch.median(torch.tensor([True, False, True], device=CUDA)).item() is True
    assert torch.tril_indices(0, 3, dtype=torch.float16, device=CUDA).shape == (2, 0)
    assert torch.triu_indices(3, 0, dtype=torch.bool, device=CUDA).dtype == torch.bool
    large = torch.tensor([[[[1 << 60, -3]]]], device=CUDA)
    place = torch.tensor([[[[3, 0]]]], device=CUDA)
    assert F.max_unpool2d(large, place, 2).tolist() == [[[[-3, 0, 0, 1 << 60], [0, 0, 0, 0]]]]
    counted = torch.empty(0, dtype=torch.float64, device=CUDA)
    assert torch.histc(floats, 2, out=counted).tolist() == [0, 4]


REFUSED: dict[str, Callable[[], object]] = {
    "\"roll_cuda\" not implemented for 'UInt16'": lambda: words.roll(1, 0),
    "\"bitwise_and_cuda\" not implemented for 'UInt16'": lambda: words & words,
    "\"bitwise_and_cuda\" not implemented for 'Half'": lambda: torch.bitwise_and(
        numbers, numbers, out=floats.half()
    ),
    "\"bitwise_or_cuda\" not implemented for 'Float'": lambda: torch.bitwise_or(
        numbers, 1, out=floats.clone()
    ),
    "\"bitwise_xor_cuda\" not implemented for 'ComplexFloat'": lambda: torch.bitwise_xor(
        numbers, numbers, out=turns.clone()
    ),
    "\"index_cuda\" not implemented for 'UInt16'": lambda: words[swap[0]],
    "\"mul_cuda\" not implemented for 'UInt16'": lambda: torch.outer(words[0], words[0]),
    "\"mul_cuda\" not implemented for 'Float8_e4m3fn'": lambda: eighths * eighths,
    "\"abs_cuda\" not implemented for 'Float8_e4m3fn'": lambda: eighths.abs(),
    "\"addcmul_cuda\" not implemented for 'ComplexHalf'": lambda: halves.addcmul(halves, halves),
    "\"signbit_cuda\" not implemented for 'UInt16'": lambda: words.signbit(),
    "\"cuda_scatter_gather_base_kernel_func\" not implemented for 'ComplexFloat'": lambda: (
        turns.scatter_reduce(0, swap, turns, "prod")
    ),
    "\"cuda_scatter_gather_base_kernel_func\" not implemented for 'ComplexDouble'": lambda: (
        turns.cdouble().scatter_(0, swap, turns.cdouble(), reduce="multiply")
    ),
    "\"cuda_scatter_gather_base_kernel_func\" not implemented for 'Bool'": lambda: (
        floats > 0
    ).scatter(0, swap, floats > 0, reduce="multiply"),
    "\"cuda_scatter_fill_base_kernel_reduce_multiply\" not implemented for 'ComplexFloat'": (
        lambda: turns.scatter(0, swap, 2j, reduce="multiply")
    ),
    "\"svd_cuda_gesvdjBatched\" not implemented for 'Half'": lambda: torch.linalg.svdvals(
        floats.half()
    ),
    "\"svd_cuda_gesvdj\" not implemented for 'Half'": lambda: torch.linalg.cond(
        torch.ones(33, 2, device=CUDA).half()
    ),
    "\"index_reduce_func_cuda_exclude_input_init\" not implemented for 'ComplexFloat'": lambda: (
        turns.index_reduce(0, swap[0], turns, "mean", include_self=False)
    ),
    "\"index_reduce\" not implemented for 'ComplexFloat'": lambda: turns.index_reduce(
        0, swap[0], turns, "mean"
    ),
    "\"median_out_impl\" not implemented for 'ComplexFloat'": lambda: turns.median(0),
    "\"tril_indices_cuda\" not implemented for 'Float'": lambda: torch.tril_indices(
        3, 3, dtype=torch.float32, device=CUDA
    ),
    "\"triu_indices_cuda\" not implemented for 'Half'": lambda: torch.triu_indices(
        3, 3, dtype=torch.float16, device=CUDA
    ),
    "\"masked_scale\" not implemented for 'ComplexFloat'": lambda: (
        torch.ops.aten.native_dropout_backward(turns, turns.real > 0, 2.0)
    ),
    "\"embedding_bag_cuda\" not implemented for 'Long'": lambda: F.embedding_bag(
        numbers[:1] % 2, numbers
    ),
    "\"LayerNormKernelImpl\" not implemented for 'Long'": lambda: F.rms_norm(numbers, (2,)),
    "\"batch_norm_invert_std_cuda\" not implemented for 'Long'": lambda: torch.native_batch_norm(
        numbers, None, None, numbers[0], numbers[0], False, 0.1, 1e-5
    ),
    "\"batch_norm_stats_cuda\" not implemented for 'Long'": lambda: torch.native_batch_norm(
        numbers, None, None, None, None, True, 0.1, 1e-5
    ),
    "getCudnnDataTypeFromScalarType() not supported for ComplexFloat": lambda: F.batch_norm(
        turns[None], turns[0], turns[0], turns[0], turns[0], training=True
    ),
    "\"std_cuda\" not implemented for 'Float8_e4m3fn'": lambda: eighths.var(),
    "\"aminmax_all_cuda\" not implemented for 'ComplexFloat'": lambda: turns.aminmax(),
    "HalfTensor is not supported": lambda: floats.half().histc(),
    " Sort does not support complex dtypes on CPU": lambda: turns.median(),
    "\"host_softmax\" not implemented for 'Long'": lambda: F.log_softmax(numbers, 0),
    "\"ufunc_add_CUDA\" not implemented for 'UInt16'": lambda: words + words,
    "\"lerp_cuda\" not implemented for 'Long'": lambda: numbers.lerp(numbers, 0.5),
    "\"lu_factor_magma_batched\" not implemented for 'Half'": lambda: torch.linalg.lu(
        torch.ones(3, 2, 4, device=CUDA).half()
    ),
    "getCudnnDataTypeFromScalarType() not supported for Long": lambda: F.conv2d(
        image.long(), image.long()
    ),
    "GET was unable to find an engine to execute this computation": lambda: F.conv2d(
        image.int(), image.int()
    ),
    "\"nll_loss_forward_reduce_cuda_kernel_2d_index\" not implemented for 'Int'": lambda: (
        F.nll_loss(floats, numbers[0].int())
    ),
    "\"index_select_out_cuda_impl\" not implemented for 'Float'": lambda: floats.index_select(
        0, floats[0]
    ),
    "expected mat1 and mat2 to have the same dtype, but got: float != double": lambda: (
        floats @ floats.double()
    ),
    "masked_fill only supports boolean masks, but got dtype Long": lambda: floats.masked_fill(
        numbers, 1
    ),
    "expected scalar type Float but found Double": lambda: F.layer_norm(
        floats, (2,), weight=floats[0].double()
    ),
    "expected a matrix": lambda: image.trace(),
    "Expected shape of indices to be: [1, 1, 4, 4] but got: [1, 1, 4, 1]": lambda: F.max_unpool2d(
        image, torch.zeros(1, 1, 4, 1, dtype=torch.int64, device=CUDA), 2
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cuda_refuses(text: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        REFUSED[text]()
    assert str(caught.value) == text
    is_named = "not implemented for" in text
    assert isinstance(caught.value, NotImplementedError) == is_named


def test_a_mean_of_complex_numbers_is_not_scattered() -> None:
    assert turns.scatter_reduce(0, swap, turns, "sum").dtype == turns.dtype
    words = "\"cuda_scatter_gather_base_kernel_func\" not implemented for 'ComplexFloat'"
    with pytest.raises(NotImplementedError, match=words):
        turns.scatter_reduce(0, swap, turns, "mean")


def test_nothing_is_computed_of_any_type() -> None:
    """CUDA's kernels end before they look at the type."""
    none = torch.ones(0, 3, 4, 5, 6, dtype=torch.int64, device=CUDA)
    pooled = F.adaptive_avg_pool3d(none, (2, 3, 4))
    assert pooled.shape == (0, 3, 2, 3, 4) and pooled.dtype == torch.int64
    row = torch.ones(1, 4, dtype=torch.float16, device=CUDA, requires_grad=True)
    F.pdist(row).sum().backward()
    assert row.grad is not None and row.grad.tolist() == [[0, 0, 0, 0]]


def test_operators_without_a_kernel_for_cuda() -> None:
    with pytest.raises(NotImplementedError, match=r"Could not run 'aten::narrow_copy\.out' with"):
        torch.narrow_copy(floats, 0, 0, 1, out=floats.clone())


def test_other_types_still_work() -> None:
    assert (floats * words).dtype == torch.float32
    assert torch.histc(numbers, 2).tolist() == [0, 4]
    assert floats.addcmul(floats, floats).sum().item() == 8
