"""B-spline bases of degree 1 to 3 and the convolution over them (Fey et al., 2018), by their definition."""

import torch
from torch_spline_conv import spline_basis, spline_conv, spline_weighting

torch.manual_seed(0)


def pieces(v, degree):
    """The parts of a uniform B-spline that are not zero at v in [0, 1)."""
    if degree == 1:
        return torch.stack([1 - v, v])
    if degree == 2:
        return torch.stack([0.5 * (1 - v) ** 2, -v * v + v + 0.5, 0.5 * v * v])
    cubic = [(1 - v) ** 3, 3 * v**3 - 6 * v**2 + 4, -3 * v**3 + 3 * v**2 + 3 * v + 1, v**3]
    return torch.stack(cubic) / 6


def expected_basis(pseudo, sizes, is_open, degree):
    """([edges, (degree + 1) ** dimensions], the same of places in the weights); dimension 0 turns first."""
    basis = torch.ones_like(pseudo[:, :1])
    places = torch.zeros_like(basis, dtype=torch.long)
    offset = 1
    for column, size, open_spline in zip(
        pseudo.unbind(1), sizes.tolist(), is_open.tolist(), strict=True
    ):
        v = column * (size - degree * open_spline)
        part = pieces(v - v.detach().floor(), degree).T
        place = (
            v.detach().floor().long()[:, None] + torch.arange(degree + 1, device=v.device)
        ) % size
        basis = (part[:, :, None] * basis[:, None, :]).flatten(1)
        places = (place[:, :, None] * offset + places[:, None, :]).flatten(1)
        offset *= size
    return basis, places


for dtype, tolerance in ((torch.float, 1e-4), (torch.double, 1e-9)):
    for degree in (1, 2, 3):
        for sizes, is_open in (([5], [1]), ([5, 6], [1, 0]), ([4, 5, 6], [0, 1, 1])):
            sizes, is_open = (
                torch.tensor(sizes, device="cuda"),
                torch.tensor(is_open, dtype=torch.uint8, device="cuda"),
            )
            pseudo = torch.rand(40, len(sizes), dtype=dtype, device="cuda", requires_grad=True)
            x = torch.randn(12, 3, dtype=dtype, device="cuda", requires_grad=True)
            weight = torch.randn(
                int(sizes.prod()), 3, 4, dtype=dtype, device="cuda", requires_grad=True
            )
            edges = torch.randint(0, 12, (2, 40), device="cuda")

            basis, places = spline_basis(pseudo, sizes, is_open, degree)
            plain_basis, plain_places = expected_basis(pseudo, sizes, is_open, degree)
            torch.testing.assert_close(basis, plain_basis, rtol=tolerance, atol=tolerance)
            assert torch.equal(places, plain_places)

            weighted = spline_weighting(x[edges[1]], weight, basis, places)
            plain = torch.einsum("es,ei,esio->eo", plain_basis, x[edges[1]], weight[places])
            torch.testing.assert_close(weighted, plain, rtol=tolerance, atol=tolerance)
            factors = torch.randn_like(plain)
            ours = torch.autograd.grad((weighted * factors).sum(), (x, weight, pseudo))
            wanted = torch.autograd.grad(
                (plain * factors).sum(), (x, weight, pseudo), retain_graph=True
            )
            for a, b in zip(ours, wanted, strict=True):
                torch.testing.assert_close(a, b, rtol=10 * tolerance, atol=10 * tolerance)

            convolved = spline_conv(x, edges, pseudo, weight, sizes, is_open, degree)
            sums = torch.zeros(12, 4, dtype=dtype, device="cuda").index_add_(0, edges[0], plain)
            degrees = torch.bincount(edges[0], minlength=12).clamp(min=1)[:, None]
            torch.testing.assert_close(convolved, sums / degrees, rtol=tolerance, atol=tolerance)
print("right")
