"""What cuSPARSE computes of sparse tensors and the CPU's libraries refuse, or do not survive."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

pytestmark = [
    pytest.mark.devices("cuda:1"),
    pytest.mark.usefixtures("seeded"),
    pytest.mark.filterwarnings("ignore"),
]


def triangular(dtype: torch.dtype, upper: bool) -> torch.Tensor:
    full = torch.randn(6, 6, dtype=dtype) * (torch.rand(6, 6) > 0.3)
    return (full.triu() if upper else full.tril()) + 3 * torch.eye(6)


@pytest.mark.parametrize("layout", ["csr", "bsr"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64], ids=str)
def test_triangular_systems(dtype: torch.dtype, layout: str) -> None:
    for upper, transpose, unitriangular in itertools.product((True, False), repeat=3):
        options = {"upper": upper, "transpose": transpose, "unitriangular": unitriangular}
        a, b = triangular(dtype, upper), torch.randn(6, 3, dtype=dtype)
        sparse = a.cuda().to_sparse_csr() if layout == "csr" else a.cuda().to_sparse_bsr((2, 2))
        found = torch.triangular_solve(b.cuda(), sparse, **options)
        torch.testing.assert_close(
            found.solution.cpu(), torch.triangular_solve(b, a, **options).solution
        )
        assert found.cloned_coefficient.numel() == 0


def test_a_diagonal_with_gaps() -> None:
    a = torch.tensor([[0.0, 0, 0], [2, 1, 0], [0, 3, 0]], device="cuda").to_sparse_csr()
    b = torch.ones(3, 1, device="cuda")
    x = torch.triangular_solve(b, a, upper=False, unitriangular=True).solution
    assert x.flatten().tolist() == [1.0, -1.0, 4.0]
    assert math.isinf(torch.triangular_solve(b, a, upper=False).solution[0].item())
    empty = torch.zeros(3, 3, device="cuda").to_sparse_csr()
    assert torch.triangular_solve(b, empty).solution.isnan().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_products_in_half_precision(dtype: torch.dtype) -> None:
    a = (torch.randn(4, 6) * (torch.rand(4, 6) > 0.4)).to(dtype).cuda()
    b, c, v = (torch.randn(size).to(dtype).cuda() for size in ((6, 3), (4, 3), (6,)))
    for sparse in (a.to_sparse_csr(), a.to_sparse_bsr((2, 2))):
        torch.testing.assert_close(sparse @ b, a @ b)
        torch.testing.assert_close(torch.addmm(c, sparse, b, beta=2), torch.addmm(c, a, b, beta=2))
        torch.testing.assert_close(sparse @ v, a @ v)
    product = a.to_sparse_csr() @ a.t().to_sparse_csr()
    assert product.layout == torch.sparse_csr and product.dtype == dtype
    torch.testing.assert_close(product.to_dense(), a @ a.t())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.complex32], ids=str)
def test_sums_of_narrow_numbers(dtype: torch.dtype) -> None:
    dense = (torch.rand(4, 4) * (torch.rand(4, 4) > 0.4)).to(dtype).cuda()
    sparse = dense.to_sparse()
    doubled = (dense.to(torch.complex64) * 2).to(dtype)
    for total in (sparse + sparse, dense + sparse):
        assert total.dtype == dtype and total.layout in (torch.sparse_coo, torch.strided)
        torch.testing.assert_close(total.to_dense(), doubled)
    assert not (sparse - sparse).to_dense().any()
    twice = torch.sparse_coo_tensor(
        torch.tensor([[1, 1, 0], [2, 2, 0]], device="cuda"), torch.ones(3, device="cuda").to(dtype)
    )
    assert twice.coalesce().values().tolist() == [1, 2]


def test_gradients_in_half_precision_are_added() -> None:
    weight = torch.ones(4, 2, device="cuda", dtype=torch.float16, requires_grad=True)
    rows = torch.tensor([1, 3, 1], device="cuda")
    for _ in range(2):
        torch.nn.functional.embedding(rows, weight, sparse=True).sum().backward()
    assert weight.grad.to_dense()[:, 0].tolist() == [0, 4, 0, 2]
    assert weight.grad._nnz() == 6


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr], ids=str)
def test_functions_of_complex32(layout: torch.layout) -> None:
    dense = torch.tensor([[0, 0.5 + 0.25j], [1j, 0]], dtype=torch.complex32, device="cuda")
    sparse = dense.to_sparse(layout=layout)
    for function in (torch.asin, torch.tanh, torch.sqrt, torch.sin):
        got = function(sparse)
        assert got.dtype == torch.complex32 and got.layout == layout
        torch.testing.assert_close(got.to_dense(), function(dense))
    out = torch.zeros_like(dense).to_sparse(layout=layout)
    if layout == torch.sparse_coo:
        assert torch.tan(sparse, out=out) is out
        torch.testing.assert_close(out.to_dense(), dense.tan())
    torch.testing.assert_close(torch.sum(sparse), dense.sum())


def test_a_tensor_that_is_said_to_be_coalesced() -> None:
    values = torch.tensor([1.0, 2.0], device="cuda")

    def made(indices: list[list[int]]) -> torch.Tensor:
        places = torch.tensor(indices, device="cuda")
        return torch.sparse_coo_tensor(
            places, values, (3, 3), is_coalesced=True, check_invariants=True
        )

    assert made([[0, 1], [2, 0]]).is_coalesced()
    for wrong in ([[1, 0], [0, 2]], [[1, 1], [2, 2]]):
        with pytest.raises(RuntimeError, match="cannot set is_coalesced to true"):
            made(wrong)
