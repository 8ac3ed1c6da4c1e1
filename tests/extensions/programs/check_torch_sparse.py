"""Sparse matrices in CSR: products, conversions, random walks, beside dense ones, in several types."""

import torch
from torch_sparse import SparseTensor, coalesce, matmul, spmm, spspmm, transpose

torch.manual_seed(0)


def sparse(rows, columns, dtype, requires_grad=False):
    """(a SparseTensor, its values, their places)"""
    places = torch.nonzero(torch.rand(rows, columns, device="cuda") < 0.15).T
    values = (
        torch.randn(places.shape[1], device="cuda").mul(4).to(dtype).requires_grad_(requires_grad)
    )
    matrix = SparseTensor(row=places[0], col=places[1], value=values, sparse_sizes=(rows, columns))
    return matrix, values, places


def dense(places, values, rows, columns, fill=0.0):
    table = torch.full((rows, columns), fill, dtype=values.dtype, device="cuda")
    return table.index_put((places[0], places[1]), values)


for dtype, tolerance in ((torch.float, 1e-4), (torch.double, 1e-9), (torch.half, 3e-2)):
    floats = dtype is not torch.half
    matrix, values, places = sparse(40, 30, dtype, floats)
    x = torch.randn(30, 17, device="cuda").to(dtype).requires_grad_(floats)
    table = dense(places, values.double(), 40, 30)
    counts = torch.bincount(places[0], minlength=40)[:, None]
    for reduce in ("sum", "mean"):
        ours = matmul(matrix, x, reduce=reduce)
        plain = table @ x.double()
        if reduce == "mean":
            plain = plain / counts.clamp(min=1)
        torch.testing.assert_close(ours.double(), plain, rtol=tolerance, atol=tolerance * 10)
        if floats:
            factors = torch.randn_like(ours)
            one = torch.autograd.grad((ours * factors).sum(), (values, x))
            two = torch.autograd.grad((plain * factors).sum(), (values, x), retain_graph=True)
            for a, b in zip(one, two, strict=True):
                torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance * 10)
    for reduce, pick in (("max", torch.amax), ("min", torch.amin)):
        ours = matmul(matrix, x, reduce=reduce)
        products = torch.full(
            (40, 30, 17), float("-inf" if reduce == "max" else "inf"), device="cuda", dtype=dtype
        )
        filled = products.index_put((places[0], places[1]), values[:, None] * x[places[1]])
        plain = torch.where(counts > 0, pick(filled, 1), 0)
        torch.testing.assert_close(ours, plain, rtol=tolerance, atol=tolerance)
        if floats:
            factors = torch.randn_like(ours)
            one = torch.autograd.grad((ours * factors).sum(), (values, x))
            two = torch.autograd.grad((plain * factors).sum(), (values, x))
            for a, b in zip(one, two, strict=True):
                torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance * 10)

# Places to pointers and back, transposes, what occurs twice.
matrix, values, places = sparse(50, 20, torch.float)
pointers = torch.cat([places.new_zeros(1), torch.bincount(places[0], minlength=50).cumsum(0)])
assert torch.equal(torch.ops.torch_sparse.ind2ptr(places[0], 50), pointers)
assert torch.equal(torch.ops.torch_sparse.ptr2ind(pointers, places.shape[1]), places[0])
assert torch.equal(matrix.t().to_dense(), matrix.to_dense().T)
turned, moved = transpose(places, values, 50, 20)
assert torch.equal(dense(turned, moved, 20, 50), dense(places, values, 50, 20).T)
twice, sums = coalesce(torch.cat([places, places], 1), torch.cat([values, values]), 50, 20)
assert torch.equal(twice, places)
torch.testing.assert_close(sums, 2 * values)
x = torch.randn(20, 3, device="cuda")
torch.testing.assert_close(
    spmm(places, values, 50, 20, x), matrix.to_dense() @ x, rtol=1e-4, atol=1e-4
)

# Products of two sparse matrices.
other, more, there = sparse(20, 35, torch.float)
found, products = spspmm(places, values, there, more, 50, 20, 35)
plain = matrix.to_dense() @ other.to_dense()
torch.testing.assert_close(dense(found, products, 50, 35), plain, rtol=1e-4, atol=1e-4)

# Diagonals.
square, _, _ = sparse(25, 25, torch.float)
table = square.to_dense()
assert torch.equal(square.remove_diag().to_dense(), table - table.diag().diag())
new = torch.arange(25.0, device="cuda")
assert torch.equal(square.set_diag(new).to_dense(), table - table.diag().diag() + new.diag())
assert torch.equal(square.get_diag(), table.diag())

# Walks go along edges.
start = torch.arange(25, device="cuda")
walks = square.random_walk(start, 6)
row, column = walks[:, :-1].flatten(), walks[:, 1:].flatten()
dead = (table != 0).sum(1) == 0
assert ((table[row, column] != 0) | (dead[row] & (row == column))).all()
print("right")
