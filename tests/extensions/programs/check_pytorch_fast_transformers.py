"""Linear, local and clustered attention's products, beside dense ones, with gradients."""

import torch
from fast_transformers import aggregate, causal_product, hashing, local_product, sparse_product
from fast_transformers.clustering.hamming import cluster

torch.manual_seed(0)


def same(ours, plain, inputs, tolerance=1e-4):
    torch.testing.assert_close(ours, plain, rtol=tolerance, atol=tolerance)
    factors = torch.randn_like(plain)
    one = torch.autograd.grad((ours * factors).sum(), inputs)
    two = torch.autograd.grad((plain * factors).sum(), inputs, retain_graph=True)
    for a, b in zip(one, two, strict=True):
        torch.testing.assert_close(a, b, rtol=10 * tolerance, atol=10 * tolerance)


def leaf(*shape):
    return torch.randn(*shape, device="cuda", requires_grad=True)


# Attention to what came before, without a softmax; narrow and wide heads have kernels of their own.
for width, out in ((8, 8), (32, 32), (64, 48), (130, 96)):
    q, k, v = leaf(2, 3, 37, width), leaf(2, 3, 37, width), leaf(2, 3, 37, out)
    plain = torch.tril(q @ k.mT) @ v
    same(causal_product.causal_dot_product(q, k, v), plain, (q, k, v), 1e-3)

# Attention within a window.
length, context = 50, 9
q, k, v = leaf(2, 3, length, 16), leaf(2, 3, length, 16), leaf(2, 3, length, 20)
lengths = torch.tensor([50, 31], device="cuda")
mask = torch.randn(length, length, device="cuda")
keys = (
    torch.arange(length, device="cuda")[:, None]
    + torch.arange(context, device="cuda")
    - context // 2
)
inside = (keys >= 0) & (keys < length)
here = keys.clamp(0, length - 1)
valid = (inside & (keys < lengths[:, None, None]))[:, None].expand(-1, 3, -1, -1)
every = (q @ k.mT + mask).gather(3, here.expand(2, 3, -1, -1))
ours = local_product.local_dot_product(q, k, mask, lengths, context)
assert (ours[~valid] < -1e23).all()
# The keys' gradients are not compared: the package adds them up with the window's numbers the other way around.
same(torch.where(valid, ours, 0), torch.where(valid, every, 0), (q,))
weights = torch.where(valid, every.detach(), -torch.inf).softmax(3).nan_to_num().requires_grad_()
plain = (torch.where(inside, weights, 0)[..., None] * v[:, :, here]).sum(3)
same(local_product.local_weighted_average(weights, v), plain, (weights, v))

# Sums of groups, and back.
groups = torch.randint(0, 5, (2, 3, length), dtype=torch.int, device="cuda")
members = torch.nn.functional.one_hot(groups.long(), 5).float()
counts = members.sum(2)
factors = 1 / counts
x = torch.randn(2, 3, length, 16, device="cuda")
plain = (members.mT @ x) * factors[..., None]
torch.testing.assert_close(aggregate.aggregate(x, groups, factors), plain, rtol=1e-4, atol=1e-4)
spread = members @ (plain * factors[..., None])
torch.testing.assert_close(
    aggregate.broadcast(plain, groups, factors), spread, rtol=1e-4, atol=1e-4
)
ordered, order = groups.sort(2)
by_group = x.gather(2, order[..., None].expand_as(x))
whole = torch.full((2,), length, dtype=torch.int, device="cuda")
ours = aggregate.clustered_aggregate(by_group, ordered, factors, whole)
torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-4)
ours = aggregate.clustered_broadcast(plain, ordered, counts.int(), factors)
torch.testing.assert_close(
    ours, spread.gather(2, order[..., None].expand_as(spread)), rtol=1e-4, atol=1e-4
)

# Products at chosen places only.
places = torch.stack(
    [torch.randperm(length, device="cuda")[:7] for _ in range(2 * 3 * length)]
).view(2, 3, length, 7)
q, k, v = leaf(2, 3, length, 16), leaf(2, 3, length, 16), leaf(2, 3, length, 20)
plain = (q @ k.mT).gather(3, places)
same(sparse_product.sparse_dot_product(q, k, places), plain, (q, k))
weights = plain.detach().softmax(3).requires_grad_()
chosen = (
    v[:, :, None]
    .expand(-1, -1, length, -1, -1)
    .gather(3, places[..., None].expand(-1, -1, -1, -1, 20))
)
plain = (weights[..., None] * chosen).sum(3)
same(sparse_product.sparse_weighted_average(weights, v, places), plain, (weights, v))

# The same where all of a group have the same places; queries come sorted by their groups.
shared = torch.stack([torch.randperm(length, device="cuda")[:7] for _ in range(2 * 3 * 5)]).view(
    2, 3, 5, 7
)
places = shared.gather(2, ordered.long()[..., None].expand(-1, -1, -1, 7))
q = leaf(2, 3, length, 16)
plain = (q @ k.mT).gather(3, places)
ours = sparse_product.clustered_sparse_dot_product(q, k, shared, ordered, counts.int(), whole)
same(ours, plain, (q, k))
chosen = (
    v[:, :, None]
    .expand(-1, -1, length, -1, -1)
    .gather(3, places[..., None].expand(-1, -1, -1, -1, 20))
)
plain = (weights[..., None] * chosen).sum(3)
ours = sparse_product.clustered_sparse_weighted_average(weights, v, shared, ordered, counts.int())
same(ours, plain, (weights, v))

# Hashes by signs of projections, and clusters of hashes.
for bits in (1, 16, 48):
    points, planes = torch.randn(70, 11, device="cuda"), torch.randn(bits, 12, device="cuda")
    above = points @ planes[:, :-1].T > planes[:, -1]
    plain = (above.long() << torch.arange(bits, device="cuda")).sum(1)
    assert torch.equal(hashing.compute_hashes(points, planes), plain)
for bits in (2, 31, 60):
    kinds = torch.tensor([0, 2**bits - 1], device="cuda")
    kind = torch.rand(100, device="cuda") < 0.3
    hashes = kinds[kind.long()].view(1, 1, 100)
    start = kinds.view(1, 1, 2).clone()
    full = torch.full((1,), 100, dtype=torch.int, device="cuda")
    found, sizes = cluster(hashes, full, centroids=start, iterations=5, bits=bits)
    assert torch.equal(found.flatten(), kind.int())
    assert sizes.flatten().tolist() == [int((~kind).sum()), int(kind.sum())]
print("right")
