"""What CUDA's libraries compute of linear algebra and LAPACK does not."""

from __future__ import annotations

import pytest
import torch

pytestmark = [pytest.mark.devices("cuda:1"), pytest.mark.usefixtures("seeded")]

SHAPES = [
    (5, 5),
    (3, 7, 4),
    (2, 3, 4, 9),
    (100, 70),
    (70, 100),
    (130, 130),
    (0, 3),
    (2, 0, 0),
    (2, 3, 1, 1),
]
TYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_lu_without_pivoting(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    a = torch.randn(shape, dtype=dtype, device="cuda")
    k = min(shape[-2:])
    a.diagonal(dim1=-2, dim2=-1).add_(k)  # else the factors are large
    found = torch.linalg.lu_factor_ex(a, pivot=False)
    host = torch.linalg.lu_factor_ex(a.cpu())
    for ours, theirs in zip(found, host, strict=True):
        assert (ours.shape, ours.stride(), ours.dtype) == (
            theirs.shape,
            theirs.stride(),
            theirs.dtype,
        )
        assert ours.is_cuda
    lu, pivots, info = found
    assert torch.equal(pivots.cpu(), torch.arange(1, k + 1, dtype=torch.int32).expand(pivots.shape))
    assert not info.any()
    p, lower, upper = torch.linalg.lu(a, pivot=False)
    assert p.shape == (0,)
    torch.testing.assert_close(lower @ upper, a)
    assert torch.equal(
        lower.diagonal(dim1=-2, dim2=-1), torch.ones(*shape[:-2], k, dtype=dtype, device="cuda")
    )
    assert torch.equal(upper, lu[..., :k, :].triu())


def test_it_is_not_pivoted() -> None:
    a = torch.tensor([[1.0, 2.0], [4.0, 3.0]], device="cuda")
    lu, _ = torch.linalg.lu_factor(a, pivot=False)
    assert lu.tolist() == [[1.0, 2.0], [4.0, -5.0]]
    assert torch.linalg.lu_factor(a)[0].tolist() == [[4.0, 3.0], [0.25, 1.25]]


def test_lu_without_pivoting_is_differentiated_and_solves() -> None:
    a = torch.randn(3, 4, 4, dtype=torch.double, device="cuda") + 4 * torch.eye(4, device="cuda")
    leaf = a.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda m: torch.linalg.lu_factor(m, pivot=False)[0], (leaf,))
    assert torch.autograd.gradcheck(lambda m: torch.linalg.lu(m, pivot=False)[1:], (leaf,))
    b = torch.randn(3, 4, 2, dtype=torch.double, device="cuda")
    x = torch.linalg.lu_solve(*torch.linalg.lu_factor(a, pivot=False), b)
    torch.testing.assert_close(a @ x, b)


def test_results_that_are_given() -> None:
    a = torch.eye(3, device="cuda") * 2
    lu, pivots = torch.empty(0, device="cuda"), torch.empty(0, dtype=torch.int32, device="cuda")
    got = torch.linalg.lu_factor(a, pivot=False, out=(lu, pivots))
    assert got[0] is lu and got[1] is pivots
    assert torch.equal(lu, a) and pivots.tolist() == [1, 2, 3]
    out = [torch.empty(0, device="cuda") for _ in range(3)]
    torch.linalg.lu(a, pivot=False, out=out)
    assert [t.shape for t in out] == [(0,), (3, 3), (3, 3)]


def test_a_pivot_of_zero() -> None:
    batch = torch.stack([torch.eye(3), torch.ones(3, 3), torch.zeros(3, 3)]).cuda()
    assert torch.linalg.lu_factor_ex(batch, pivot=False).info.tolist() == [0, 2, 1]
    with pytest.raises(
        RuntimeError, match=r"linalg.lu_factor: \(Batch element 1\): U\[2,2\] is zero"
    ):
        torch.linalg.lu_factor(batch, pivot=False)
    with pytest.raises(RuntimeError, match=r"linalg.lu_factor_ex: U\[1,1\] is zero"):
        torch.linalg.lu_factor_ex(batch[2], pivot=False, check_errors=True)


def test_what_lu_refuses() -> None:
    with pytest.raises(
        RuntimeError, match=r"Expected tensor with 2 or more dimensions. Got size: \[3\]"
    ):
        torch.linalg.lu_factor_ex(torch.ones(3, device="cuda"), pivot=False)
    with pytest.raises(RuntimeError, match="\"lu_factor_cusolver\" not implemented for 'Half'"):
        torch.linalg.lu_factor_ex(torch.ones(2, 2, device="cuda").half(), pivot=False)
    with pytest.raises(RuntimeError, match="LU without pivoting is not implemented on the CPU"):
        torch.linalg.lu_factor(torch.eye(2), pivot=False)


def test_the_drivers_of_svd() -> None:
    a = torch.randn(2, 5, 3, dtype=torch.double, device="cuda", requires_grad=True)
    values = torch.linalg.svdvals(a)
    for driver in ("gesvd", "gesvdj", "gesvda"):
        u, s, vh = torch.linalg.svd(a, full_matrices=False, driver=driver)
        torch.testing.assert_close(u @ torch.diag_embed(s) @ vh, a)
        torch.testing.assert_close(torch.linalg.svdvals(a, driver=driver), values)
        assert torch.autograd.gradcheck(lambda m, d=driver: torch.linalg.svdvals(m, driver=d), (a,))
    out = [torch.empty(0, dtype=torch.double, device="cuda") for _ in range(3)]
    torch.linalg.svd(a.detach(), driver="gesvd", out=out)
    assert [t.shape for t in out] == [(2, 5, 5), (2, 3), (2, 3, 3)]
    words = "torch.linalg.svd: unknown svd driver gesdd in svd_cusolver computation. Check doc at"
    with pytest.raises(RuntimeError, match=words):
        torch.linalg.svd(a, driver="gesdd")
    assert torch.linalg.svdvals(torch.ones(0, 3, device="cuda"), driver="gesdd").shape == (0,)
    with pytest.raises(RuntimeError, match="only supported on CUDA inputs with cuSOLVER backend"):
        torch.linalg.svd(torch.eye(2), driver="gesvd")


def test_an_adjoint_is_stored_conjugated() -> None:
    """cuSOLVER computes V: Vh is the conjugate of what is stored, so that Vh.mH is none."""
    a = torch.randn(2, 5, 3, dtype=torch.cfloat, device="cuda")
    out = (a.new_empty(0), torch.empty(0, device="cuda"), a.new_empty(0))
    torch.linalg.svd(a, full_matrices=False, out=out)
    for u, s, vh in (torch.linalg.svd(a, full_matrices=False), out):
        assert vh.is_conj() and not vh.mH.is_conj() and not u.is_conj()
        torch.testing.assert_close(u @ torch.diag_embed(s).to(u.dtype) @ vh, a)
    assert not torch.svd(a).V.is_conj() and not torch.linalg.svd(a.real)[2].is_conj()
    wide = a[0].to(torch.cdouble).requires_grad_()
    assert torch.autograd.gradcheck(lambda m: torch.linalg.svd(m, False)[2].abs(), (wide,))


def test_least_squares_have_the_driver_of_cuda() -> None:
    a, b = torch.randn(5, 3, device="cuda"), torch.randn(5, 2, device="cuda")
    for options in ({}, {"driver": "gels"}, {"driver": "GELS"}):
        found = torch.linalg.lstsq(a, b, **options)
        torch.testing.assert_close(found.solution, torch.linalg.pinv(a) @ b)
        assert found.rank.numel() == 0 and found.singular_values.numel() == 0
    assert torch.linalg.lstsq(a.cpu(), b.cpu()).rank == 3
    with pytest.raises(RuntimeError, match="`driver` other than `gels` is not supported on CUDA"):
        torch.linalg.lstsq(a, b, driver="gelsd")
