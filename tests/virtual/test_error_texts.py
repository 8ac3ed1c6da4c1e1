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
