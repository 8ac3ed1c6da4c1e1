"""Convolutions and neighbourhood attention on the sphere, by their dense definitions."""

import torch
from torch_harmonics import DiscreteContinuousConvS2, DiscreteContinuousConvTransposeS2
from torch_harmonics._disco_convolution import disco_cuda_extension
from torch_harmonics._neighborhood_attention import attention_cuda_extension
from torch_harmonics.attention import NeighborhoodAttentionS2

torch.manual_seed(0)
assert disco_cuda_extension is not None
assert attention_cuda_extension is not None


def dense(kernel, row, column, values, sizes_in, sizes_out, kernels):
    """[kernels, latitudes out, longitudes out, latitudes in, longitudes in]: entries turn with the longitude."""
    (rows_in, lines_in), (rows_out, lines_out) = sizes_in, sizes_out
    table = torch.zeros(
        kernels, rows_out, lines_out, rows_in, lines_in, dtype=torch.double, device="cuda"
    )
    step = lines_in // lines_out
    for line in range(lines_out):
        place = (column // lines_in, (column % lines_in + step * line) % lines_in)
        here = torch.full_like(row, line)
        table.index_put_((kernel, row, here, *place), values.double(), accumulate=True)
    return table


for sizes_in, sizes_out in (((12, 24), (12, 24)), ((12, 24), (6, 12))):
    conv = DiscreteContinuousConvS2(3, 4, sizes_in, sizes_out, (2, 2), bias=False).cuda()
    places = (conv.psi_ker_idx, conv.psi_row_idx, conv.psi_col_idx)
    table = dense(*places, conv.psi_vals, sizes_in, sizes_out, conv.kernel_size)
    x = torch.randn(2, 3, *sizes_in, device="cuda", requires_grad=True)
    weight = conv.weight.view(4, 3, conv.kernel_size).double()
    plain = torch.einsum("khwij,bcij,ock->bohw", table, x.double(), weight)
    ours = conv(x)
    torch.testing.assert_close(ours.double(), plain, rtol=1e-4, atol=1e-5)
    factors = torch.randn_like(ours)
    inputs = (x, conv.weight)
    one = torch.autograd.grad((ours * factors).sum(), inputs)
    two = torch.autograd.grad((plain * factors).sum(), inputs)
    for a, b in zip(one, two, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)

    # The transposed one: what each place out got from each place in.
    conv = DiscreteContinuousConvTransposeS2(3, 4, sizes_out, sizes_in, (2, 2), bias=False).cuda()
    places = (conv.psi_ker_idx, conv.psi_row_idx, conv.psi_col_idx)
    table = dense(*places, conv.psi_vals, sizes_in, sizes_out, conv.kernel_size)
    x = torch.randn(2, 3, *sizes_out, device="cuda", requires_grad=True)
    weight = conv.weight.view(4, 3, conv.kernel_size).double()
    plain = torch.einsum("khwij,bchw,ock->boij", table, x.double(), weight)
    ours = conv(x)
    torch.testing.assert_close(ours.double(), plain, rtol=1e-4, atol=1e-5)
    (one,) = torch.autograd.grad(ours.square().sum(), x)
    (two,) = torch.autograd.grad(plain.square().sum(), x)
    torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-4)

    # Attention to the neighbourhood of each place, weighted by the areas.
    # The kernels of 0.8.0 go from one longitude to the next on both sides (`wip`), so these have as many.
    if sizes_in[1] != sizes_out[1]:
        continue
    for channels in (8, 40):
        attention = NeighborhoodAttentionS2(channels, sizes_in, sizes_out, num_heads=1).cuda()
        row, column = attention.psi_row_idx, attention.psi_col_idx
        near = (
            dense(torch.zeros_like(row), row, column, torch.ones_like(row), sizes_in, sizes_out, 1)[
                0
            ]
            > 0
        )
        k, v = (
            torch.randn(2, channels, *sizes_in, device="cuda", requires_grad=True) for _ in range(2)
        )
        q = torch.randn(2, channels, *sizes_out, device="cuda", requires_grad=True)
        sizes = (sizes_in[1], *sizes_out)
        parts = (attention.quad_weights, column, attention.psi_roff_idx, *sizes)
        ours = attention_cuda_extension.forward(k.detach(), v.detach(), q.detach(), *parts)
        scores = torch.einsum("bchw,bcij->bhwij", q, k).masked_fill(~near, float("-inf"))
        powers = (scores + attention.quad_weights.flatten().log()[:, None]).flatten(3).softmax(3)
        plain = torch.einsum("bhwn,bcn->bchw", powers, v.flatten(2))
        torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-4)
        factors = torch.randn_like(ours)
        gradients = attention_cuda_extension.backward_dkvq(
            k.detach(), v.detach(), q.detach(), factors, *parts
        )
        wanted = torch.autograd.grad((plain * factors).sum(), (k, v, q))
        for a, b in zip(gradients, wanted, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3)
print("right")
