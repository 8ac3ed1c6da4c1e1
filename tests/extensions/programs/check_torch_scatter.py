"""Sums, products, means, minima and maxima of groups, by three ways to name the groups, in four types."""

import torch
import torch_scatter

torch.manual_seed(0)
GROUPS = 50
for dtype in (torch.float, torch.double, torch.half, torch.long):
    source = (torch.randn(1000, 7) * 10).to(dtype).cuda()
    index = torch.sort(torch.randint(0, GROUPS, (1000,)))[0].cuda()
    wide = index.view(-1, 1).expand(-1, 7)
    pointers = torch.cat([index.new_zeros(1), torch.bincount(index, minlength=GROUPS).cumsum(0)])
    plain = torch.zeros(GROUPS, 7, dtype=dtype, device="cuda").index_add_(0, index, source)
    tolerance = {"rtol": 1e-2, "atol": 0.5} if dtype is torch.half else {"rtol": 1e-5, "atol": 1e-3}
    torch.testing.assert_close(torch_scatter.scatter_sum(source, index, 0), plain, **tolerance)
    torch.testing.assert_close(torch_scatter.segment_sum_coo(source, index), plain, **tolerance)
    torch.testing.assert_close(torch_scatter.segment_sum_csr(source, pointers), plain, **tolerance)
    for name, reduce in (("max", "amax"), ("min", "amin")):
        worst = -1000 if name == "max" else 1000
        reference = plain.new_full((GROUPS, 7), worst).scatter_reduce_(0, wide, source, reduce)
        for extreme, where in (
            getattr(torch_scatter, f"scatter_{name}")(source, index, 0, dim_size=GROUPS),
            getattr(torch_scatter, f"segment_{name}_coo")(source, index, dim_size=GROUPS),
            getattr(torch_scatter, f"segment_{name}_csr")(source, pointers),
        ):
            assert torch.equal(extreme, reference)
            assert torch.equal(source.gather(0, where), extreme)
    gathered = plain.index_select(0, index)
    assert torch.equal(torch_scatter.gather_coo(plain, index), gathered)
    assert torch.equal(torch_scatter.gather_csr(plain, pointers), gathered)

# In any order, along another dimension, with gradients.
for dtype in (torch.float, torch.double):
    source = torch.randn(3, 200, 4, dtype=dtype, device="cuda", requires_grad=True)
    index = torch.randint(0, 9, (200,), device="cuda")
    wide = index.view(1, -1, 1).expand_as(source)
    members = torch.nn.functional.one_hot(index, 9).to(dtype)
    sums = torch.einsum("abc,bg->agc", source, members)
    counts = members.sum(0).view(1, 9, 1)
    products = torch.stack([source[:, index == group].prod(1) for group in range(9)], 1)
    maxima = torch.stack([source[:, index == group].amax(1) for group in range(9)], 1)
    ordered, order = index.sort()
    pointers = torch.cat([index.new_zeros(1), torch.bincount(index, minlength=9).cumsum(0)]).view(
        1, -1
    )
    by_group = source[:, order]
    for ours, plain in (
        (torch_scatter.scatter(source, index, 1, reduce="sum"), sums),
        (torch_scatter.scatter(source, index, 1, reduce="mean"), sums / counts),
        (torch_scatter.scatter(source, index, 1, reduce="mul"), products),
        (torch_scatter.scatter(source, index, 1, reduce="max"), maxima),
        (torch_scatter.segment_coo(by_group, ordered.expand(3, -1), reduce="mean"), sums / counts),
        (torch_scatter.segment_csr(by_group, pointers.expand(3, -1), reduce="sum"), sums),
        (torch_scatter.segment_csr(by_group, pointers.expand(3, -1), reduce="max"), maxima),
        (torch_scatter.gather_csr(sums, pointers.expand(3, -1)), sums[:, ordered]),
    ):
        torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-5)
        factors = torch.randn_like(plain)
        one, two = (
            torch.autograd.grad((y * factors).sum(), source, retain_graph=True)[0]
            for y in (ours, plain)
        )
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-4)
print("right")
