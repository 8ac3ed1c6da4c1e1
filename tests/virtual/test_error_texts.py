"""Errors of kernels have the names of CUDA's kernels, also where the CPU's kernel raised them."""

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:1")

F = torch.nn.functional
flags = torch.ones(2, 2, dtype=torch.bool, device="cuda")
numbers = torch.ones(2, 2, dtype=torch.int64, device="cuda")
turns = torch.ones(2, 2, dtype=torch.complex64, device="cuda")
reals = torch.ones(2, 2, device="cuda")
index = torch.zeros(2, 2, dtype=torch.int64, device="cuda")
words = numbers.to(torch.uint16)
eighths = reals.to(torch.float8_e4m3fn)


def normed(x: torch.Tensor) -> torch.Tensor:
    return F.batch_norm(x[:, :, None, None], x[0], x[0], x[0], x[0], training=True)


# The names of aten/src/ATen/native/cuda.
TEXTS = {
    "\"frac_cuda\" not implemented for 'Bool'": lambda: flags.frac(),
    "\"gcd_cuda\" not implemented for 'Float'": lambda: torch.gcd(reals, reals),
    "\"bitwise_and_cuda\" not implemented for 'Float'": lambda: reals & reals,
    "\"lshift_cuda\" not implemented for 'Float'": lambda: reals.bitwise_left_shift(reals),
    "\"compare_cuda\" not implemented for 'ComplexFloat'": lambda: turns < turns,
    "\"round_cuda\" not implemented for 'ComplexFloat'": lambda: turns.round(),
    "\"elu_cuda\" not implemented for 'Long'": lambda: F.elu(numbers),
    "\"log_sigmoid_forward_cuda\" not implemented for 'Long'": lambda: F.logsigmoid(numbers),
    "\"mse_cuda\" not implemented for 'Long'": lambda: F.mse_loss(numbers, numbers),
    "\"hypot_cuda\" not implemented for 'Long'": lambda: torch.hypot(numbers, numbers),
    "\"cuda_mode\" not implemented for 'ComplexFloat'": lambda: turns.mode(),
    "\"sort\" not implemented for 'UInt16'": lambda: words.sort(),
    "\"sort\" not implemented for 'Float8_e4m3fn'": lambda: eighths.argsort(),
    "\"minimum_cuda\" not implemented for 'UInt16'": lambda: torch.fmin(words, words),
    "\"clamp_scalar_cuda\" not implemented for 'UInt16'": lambda: words.relu(),
    "\"median_out_impl\" not implemented for 'Float8_e4m3fn'": lambda: torch.masked.median(
        eighths, 0
    ),
    "\"embedding_bag_cuda\" not implemented for 'Long'": lambda: F.embedding_bag(index, numbers),
    "\"cuda_scatter_gather_base_kernel_func\" not implemented for 'ComplexFloat'": lambda: (
        turns.scatter_reduce(0, index, turns, "mean")
    ),
    "\"masked_scale\" not implemented for 'ComplexFloat'": lambda: (
        torch.ops.aten.native_dropout_backward(turns, flags, 2.0)
    ),
    "\"svd_cuda_gesvdjBatched\" not implemented for 'Half'": lambda: torch.linalg.svd(reals.half()),
    "\"svd_cuda_gesvdj\" not implemented for 'Half'": lambda: torch.linalg.svdvals(
        torch.ones(2, 33, dtype=torch.half, device="cuda")
    ),
    "\"svd_cuda_gesvd\" not implemented for 'BFloat16'": lambda: torch.linalg.svd(
        reals.bfloat16(), driver="gesvd"
    ),
    "\"LayerNormKernelImpl\" not implemented for 'Float8_e4m3fn'": lambda: F.layer_norm(
        eighths, (2,)
    ),
    "\"LayerNormKernelImpl\" not implemented for 'Long'": lambda: torch.rms_norm(numbers, (2,)),
    "\"batch_norm_stats_cuda\" not implemented for 'Float8_e4m3fn'": lambda: F.batch_norm(
        eighths, None, None, training=True
    ),
    # cuDNN computes what has a weight and a bias.
    "getCudnnDataTypeFromScalarType() not supported for ComplexFloat": lambda: normed(turns),
    "TensorDescriptor does not support Byte": lambda: normed(numbers.byte()),
    "CUDA Tensors cannot have more than 25 dimensions": lambda: torch.ones(
        [1] * 25, device="cuda"
    ).median(-1),
    "cuDNN Frontend error: hidden_dim should be multiple of 8": lambda: (
        torch.ops.aten._scaled_dot_product_cudnn_attention(*[reals[None, None]] * 3, None, False)
    ),
    "when calling `cusparseLtStructuredDescriptorInit(": lambda: torch._cslt_compress(reals),
    "max_pool3d_with_indices_out_cuda_template(): Expected": lambda: F.max_pool3d(
        torch.ones(0, 1, 2, 10, device="cuda"), 1
    ),
}


@pytest.mark.parametrize("text", TEXTS)
def test_names_of_kernels(text: str) -> None:
    with pytest.raises(RuntimeError) as caught:  # NotImplementedError is one
        TEXTS[text]()
    assert text in str(caught.value)


def test_the_cpu_keeps_its_names() -> None:
    with pytest.raises(NotImplementedError, match="frac_cpu"):
        flags.cpu().frac()
