"""What CUDA says of arguments that do not fit, as an H100 said it (tests/fidelity, errors/mutations)."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

pytestmark = pytest.mark.devices("cuda:1")


def drawn(*shape, dtype=torch.float32):
    return torch.ones(*shape, device="cuda", dtype=dtype)


SAID = {
    "expand": (
        lambda: torch.addmm(drawn(1, 2, 3), drawn(2, 2), drawn(2, 3)),
        "expand(torch.cuda.FloatTensor{[1, 2, 3]}, size=[2, 3]): the number of sizes provided (2) must be",
    ),
    "fft": (lambda: torch.fft.fft(drawn(5, 0)), "Invalid number of data points (0) specified"),
    "fft of no rows": (lambda: torch.fft.fft(drawn(0, 5)), "cuFFT error: CUFFT_INVALID_SIZE"),
    "backend": (
        lambda: torch.hstack([drawn(3), drawn(3).to_sparse()]),
        "Could not run 'aten::_values' with arguments from the 'CUDA' backend",
    ),
    "masked_scatter": (
        lambda: drawn(3).masked_scatter(drawn(3, dtype=torch.bool), drawn(3).double()),
        "masked_scatter_: expected self and source to have same dtypes but got Float and Double",
    ),
    "cross": (
        lambda: torch.linalg.cross(drawn(3), drawn(3).double()),
        "Found dtype Double but expected Float",
    ),
    "max_unpool2d": (
        lambda: F.max_unpool2d(drawn(1, 1, 1, 2, 2), drawn(1, 1, 1, 2, 2).long(), 2),
        "Input to max_unpooling2d should be a 3d or 4d Tensor, but got tensor with dimension: 5",
    ),
    "embedding_bag": (
        lambda: F.embedding_bag(drawn(2, 2).double(), drawn(3, 3)),
        "scalar types: Long, Int; but got torch.cuda.DoubleTensor instead (while checking arguments for "
        "embedding_bag_cuda)",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_text(name: str) -> None:
    call, text = SAID[name]
    with pytest.raises((RuntimeError, IndexError)) as caught:
        call()
    assert text in str(caught.value), str(caught.value)
