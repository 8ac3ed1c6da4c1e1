"""SwiGLU and its gradients in three types."""

import torch
from torch.nn.functional import silu
from torch_llm_kernels import swiglu

torch.manual_seed(0)
for dtype, tolerance in ((torch.float, 1e-5), (torch.double, 1e-5), (torch.half, 5e-3), (torch.bfloat16, 4e-2)):
    for shape in ((7,), (33, 129), (2, 5, 64)):
        gate, up = (torch.randn(shape, dtype=dtype, device="cuda", requires_grad=True) for _ in range(2))
        ours = swiglu(gate, up)
        assert ours.dtype is dtype
        plain = silu(gate.double()) * up.double()
        torch.testing.assert_close(ours.double(), plain, rtol=tolerance, atol=tolerance)
        factors = torch.randn_like(gate)
        one = torch.autograd.grad((ours * factors).sum(), (gate, up))
        two = torch.autograd.grad((plain * factors).sum(), (gate, up))
        for a, b in zip(one, two, strict=True):
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)
print("right")
