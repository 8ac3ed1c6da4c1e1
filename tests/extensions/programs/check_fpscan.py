"""First-order recurrences, both ways and their gradients, step by step."""

import fpscan
import torch

torch.manual_seed(0)


def expected(gates, tokens, reverse=False):
    last = torch.zeros_like(tokens[..., 0])
    steps = []
    for gate, token in zip(
        *(x.flip(-1).unbind(-1) if reverse else x.unbind(-1) for x in (gates, tokens)), strict=True
    ):
        last = gate * last + token
        steps.append(last)
    return torch.stack(steps[::-1] if reverse else steps, -1)


for dtype, tolerance in ((torch.float, 1e-4), (torch.half, 2e-2), (torch.bfloat16, 1e-1)):
    for length in (32, 64, 512, 2048):
        gates = (0.9 + 0.1 * torch.rand(2, 3, length, device="cuda")).to(dtype)
        tokens = torch.randn(2, 3, length, device="cuda").div(8).to(dtype)
        for reverse in (False, True):
            ours = fpscan.scan_forward(gates, tokens, reverse)
            assert ours.dtype is dtype
            plain = expected(gates.double(), tokens.double(), reverse)
            torch.testing.assert_close(ours.double(), plain, rtol=tolerance, atol=tolerance)
for length in (32, 1024):
    gates = torch.rand(2, 4, length, device="cuda", requires_grad=True)
    tokens = torch.randn(2, 4, length, device="cuda", requires_grad=True)
    factors = torch.randn_like(tokens)
    ours = torch.autograd.grad((fpscan.pscan(gates, tokens) * factors).sum(), (gates, tokens))
    plain = torch.autograd.grad((expected(gates, tokens) * factors).sum(), (gates, tokens))
    for a, b in zip(ours, plain, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
print("right")
