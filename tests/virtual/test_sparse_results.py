"""Sparse tensors that are written: out=, in place, and copies, where the kernel resizes their parts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from sides import same

pytestmark = [
    pytest.mark.devices("cuda:1"),
    pytest.mark.usefixtures("seeded"),
    pytest.mark.filterwarnings("ignore:Sparse .* tensor support is in beta"),
]

LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "coo": torch.Tensor.to_sparse,
    "csr": torch.Tensor.to_sparse_csr,
    "csc": torch.Tensor.to_sparse_csc,
    "bsr": lambda t: t.to_sparse_bsr((2, 2)),
    "bsc": lambda t: t.to_sparse_bsc((2, 2)),
}
# What each layout may write to a result with other elements; the CPU refuses the rest.
WRITTEN = {
    "coo": ["abs", "asin", "floor", "log1p", "neg", "sgn", "sin", "sqrt"],
    "csr": ["abs", "sin"],
}
DENSE = torch.tensor(
    [[0.0, 0.3, 0, 0.5, 0, 0], [0, 0, 0, 0, 0, 0.9], [0.1, 0, 0, 0, 0, 0], [0] * 6]
)
BEFORE = {
    "no elements": torch.zeros(4, 6),
    "the same elements": DENSE * 2,
    "more elements": torch.ones(4, 6),
    "another shape": torch.ones(8, 2),
}


def parts(t: torch.Tensor) -> tuple[torch.Tensor, ...]:
    if t.layout == torch.sparse_coo:
        return t._indices(), t._values()
    if t.layout in (torch.sparse_csr, torch.sparse_bsr):
        return t.crow_indices(), t.col_indices(), t.values()
    return t.ccol_indices(), t.row_indices(), t.values()


def outcome(call: Callable[..., torch.Tensor], layout: str, before: torch.Tensor) -> Callable:
    def run(dense: torch.Tensor) -> object:
        make = LAYOUTS[layout]
        out = make(before.to(dense.device))
        try:
            assert call(make(dense), out) is out
        except (RuntimeError, IndexError) as error:
            return type(error).__name__
        parts(out)[-1].mul_(2)  # the memory is the result's own
        # Sums have other elements on CUDA: see below.
        merged = out.coalesce() if layout == "coo" else out
        return out.clone().to_dense(), parts(merged)

    return run


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("layout", WRITTEN)
def test_out(layout: str, before: str) -> None:
    for name in WRITTEN[layout]:
        op = getattr(torch, name)
        got = same(outcome(lambda s, out, op=op: op(s, out=out), layout, BEFORE[before]), DENSE)
        if layout == "coo" and before != "another shape":  # which is refused
            assert torch.equal(got[0].cpu(), 2 * op(DENSE).to(got[0].dtype))


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_products_and_copies(layout: str, before: str) -> None:
    for call in (
        lambda s, out: torch.add(s, s, out=out),
        lambda s, out: torch.sub(s, s, alpha=3, out=out),
        lambda s, out: torch.div(s, 2, out=out),
        lambda s, out: torch.pow(s, 2, out=out),
        lambda s, out: out.add_(s),
        lambda s, out: out.copy_(s),
        lambda s, out: out.resize_as_sparse_(s).copy_(s),
        lambda s, out: out.zero_(),
        lambda s, out: torch.addmm(out, s, s.t(), out=out),
    ):
        same(outcome(call, layout, BEFORE[before]), DENSE, close=True)


def test_sums_put_the_elements_side_by_side() -> None:
    def made(places: list[int]) -> torch.Tensor:
        indices = torch.tensor([places], device="cuda")
        return torch.sparse_coo_tensor(indices, torch.ones(len(places), device="cuda"), (9,))

    a, b = made([1, 3]).coalesce(), made([3, 5, 7]).coalesce()
    for total, sign in ((a + b, 1), (a - b, -1), (torch.add(a, b, alpha=3), 3)):
        assert not total.is_coalesced()
        assert total._indices().tolist() == [[1, 3, 3, 5, 7]]
        assert total._values().tolist() == [1, 1, sign, sign, sign]
        with pytest.raises(RuntimeError, match="Cannot get indices on an uncoalesced tensor"):
            total.indices()
    out = made([0]).double()
    assert torch.add(a, b, out=out) is out
    assert out.dtype == torch.float64 and out.to_dense().tolist() == [0, 1, 0, 2, 0, 1, 0, 1, 0]
    a += b
    assert a._nnz() == 5 and a.coalesce().values().tolist() == [1, 2, 1, 1]
    many = made(list(range(9)))
    assert (many + made([0])).is_coalesced()  # more elements than a dense tensor has
    for empty in (made([]) + many, many + made([])):
        assert empty._nnz() == 9


def test_a_resized_result_is_charged_to_the_device() -> None:
    torch.cuda.reset_peak_memory_stats()
    values = 1 << 16
    s = torch.sparse_coo_tensor(
        torch.arange(values, device="cuda")[None], torch.ones(values, device="cuda"), (values,)
    ).coalesce()
    out = torch.zeros(values, device="cuda").to_sparse()
    before = torch.cuda.memory_allocated()
    torch.sin(s, out=out)
    assert torch.cuda.memory_allocated() - before == values * (8 + 4)
    del out
    assert torch.cuda.memory_allocated() == before


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_products_of_bools(layout: str) -> None:
    def product(dense: torch.Tensor) -> torch.Tensor:
        found = LAYOUTS[layout](dense) * LAYOUTS[layout](dense.flip(0) | dense)
        assert found.layout == LAYOUTS[layout](dense).layout
        return found.to_dense()

    dense = DENSE != 0
    assert torch.equal(product(dense.cuda()).cpu(), dense & (dense.flip(0) | dense))


def test_a_copy_of_a_part_is_sparse() -> None:
    whole = torch.eye(4, device="cuda").to_sparse()
    part = whole.narrow_copy(0, 1, 2)
    assert part.is_sparse and part.device.type == "cuda"
    assert torch.equal(part.to_dense(), torch.eye(4, device="cuda")[1:3])
