"""Sums over rows leave parts in a buffer while they compute, as Reduce.cuh has it."""

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:1")

PROPERTIES = torch.cuda.get_device_properties(0)
# A block has 32 x 4 threads, and each of them four columns.
BLOCKS = PROPERTIES.multi_processor_count * PROPERTIES.max_threads_per_multi_processor // 128
SEMAPHORES = 512  # a block of the allocator


def most(function) -> int:
    """The bytes that are there at most during a call, with its result."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    result = function()
    assert result.numel() > 0
    return torch.cuda.max_memory_allocated() - before


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(6304, 3072), (32, 197, 3072)])
def test_a_bias_gradient(dtype, shape):
    x = torch.zeros(shape, dtype=dtype, device="cuda")
    dims = list(range(len(shape) - 1))
    parts = 4 * 3072 * (-(-BLOCKS // 24)) * 128
    result = 3072 * dtype.itemsize
    assert most(lambda: x.sum(dims)) == parts + result + SEMAPHORES
    assert most(lambda: x.mean(dims)) == parts + result + SEMAPHORES


def test_few_columns():
    # Two columns at once, and blocks of 2 x 128 threads: each has 512 rows, and 32 blocks share them.
    x = torch.zeros(65536, 6, device="cuda")
    parts = 4 * 6 * 32 * 2 * 2
    assert most(lambda: x.sum(0)) == parts + 2 * SEMAPHORES


def test_what_has_no_parts():
    x = torch.zeros(64, 4096, device="cuda")
    assert most(lambda: x.sum(0)) == 4096 * 4
    rows = torch.zeros(4096, 2048, device="cuda")
    assert most(lambda: rows.sum(1)) == 4096 * 4
