"""Sparse, quantized and nested tensors without data: the results and the memory of those that are computed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from planning_programs import torchport

PROGRAM = Path(__file__).parent / "programs" / "layouts.py"

# What a value decides is as large as it can be, and takes less than this more than with data.
AT_MOST = {"dense_to_csr": 1.05, "dense_to_bsr": 1.05, "dense_to_coo": 1.05, "coo_coalesce": 1.05}


# The device with data converts the matrix for the CPU's kernel; cuSPARSE does not.
AT_LEAST = {"csr_product_trained": 0.9}


def found(*options: str) -> dict[str, tuple[str, int]]:
    run = torchport("run", "-q", "--profile", "h100-80g", *options, PROGRAM)
    assert run.returncode == 0, run.stderr
    return {name: (result, peak) for name, result, peak in map(json.loads, run.stdout.splitlines())}


def test_results_and_memory_are_those_of_computed_tensors() -> None:
    computed, planned = found(), found("--no-data")
    assert len(planned) == 16
    assert {name: result for name, (result, _) in planned.items()} == {
        name: result for name, (result, _) in computed.items()
    }
    for name, (_, peak) in planned.items():
        assert AT_LEAST.get(name, 0.97) < peak / computed[name][1] <= AT_MOST.get(name, 1.03), name


@pytest.mark.parametrize("size", [40_000])
def test_a_large_sparse_product_needs_no_memory_of_the_host(tmp_path: Path, size: int) -> None:
    (tmp_path / "product.py").write_text(
        "import resource, torch\n"
        f"n = {size}\n"
        "where = torch.randint(0, n, (2, 1_000_000), device='cuda')\n"
        "matrix = torch.sparse_coo_tensor(where, torch.randn(1_000_000, device='cuda'), (n, n))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "x = torch.randn(n, n, device='cuda', requires_grad=True)\n"
        "torch.sparse.mm(matrix.coalesce(), x).sum().backward()\n"
        "print(x.grad.shape[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before >> 10)\n"
    )
    run = torchport("run", "-q", "--profile", "h100-80g", "--no-data", tmp_path / "product.py")
    assert run.returncode == 0, run.stderr
    rows, host = map(int, run.stdout.split())
    assert rows == size
    assert host < 300, "MiB of the host"
