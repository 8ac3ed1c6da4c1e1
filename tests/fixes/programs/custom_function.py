"""An autograd function with the decorators of torch.cuda.amp."""

import torch
from torch.cuda.amp import custom_bwd, custom_fwd


class Scale(torch.autograd.Function):
    @staticmethod
    @custom_fwd(cast_inputs=torch.float32)
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    @custom_bwd
    def backward(ctx, grad):
        return grad * ctx.factor, None


x = torch.ones(3, requires_grad=True, device="cuda")
with torch.cuda.amp.autocast(enabled=False):
    y = Scale.apply(x, 2.5).sum()
y.backward()
print(y.item(), x.grad.tolist())
