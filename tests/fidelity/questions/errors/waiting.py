"""Which calls wait for the device: they are errors when set_sync_debug_mode says so."""

import torch
from recorder.registry import expressions
from torch import nn
from torch.nn import functional as F


def waiting(function, mode="error"):
    """A call where waiting is an error, or a warning."""
    torch.cuda.set_sync_debug_mode(mode)
    try:
        return function()
    finally:
        torch.cuda.set_sync_debug_mode("default")


def names():
    m = torch.arange(9.0, device="cuda").reshape(3, 3)
    i4 = torch.ones(1, 1, 4, 4, device="cuda", requires_grad=True)
    return {
        "torch": torch, "F": F, "nn": nn, "m": m, "i4": i4, "ci": torch.arange(3, device="cuda"),
        "w": torch.ones(3, 3, device="cuda", requires_grad=True), "pin": torch.ones(3).pin_memory(), "sync": waiting,
    }  # fmt: skip


WAITING = """
    m.item() if m.numel() == 1 else m.sum().item()
    m.cpu()
    m.to('cpu', non_blocking=True)
    m.tolist()
    bool(m.sum())
    m.nonzero()
    m[m > 1]
    m.masked_select(m > 1)
    m.unique()
    m.masked_fill(m > 1, 0)
    m[ci]
    m[m > 1] = 0
    torch.where(m > 1)
    torch.repeat_interleave(m, ci, dim=0)
    torch.repeat_interleave(m, 2, dim=0)
    torch.bincount(ci)
    torch.multinomial(m, 1)
    torch.equal(m, m)
    torch.allclose(m, m)
    torch.isnan(m).any()
    F.one_hot(ci)
    F.one_hot(ci, 3)
    torch.linalg.inv(m + 9 * torch.eye(3, device='cuda'))
    torch.linalg.inv_ex(m)
    torch.linalg.cholesky(torch.eye(3, device='cuda'))
    torch.linalg.eigh(m)
    torch.linalg.svd(m)
    torch.tensor([1.0], device='cuda')
    torch.ones(3).to('cuda')
    pin.to('cuda', non_blocking=True)
    pin.to('cuda')
    m.copy_(torch.ones(3))
    torch.cuda.synchronize()
    torch.cuda.current_stream().synchronize()
    torch.randperm(5, device='cuda')
    torch.nn.utils.clip_grad_norm_([w], 1.0)
    m.median()
    m.sort()
    m.topk(1)
    m.argmax()
    print(m)
    repr(m)
    m.is_nonzero() if m.numel() == 1 else m[0, 0].is_nonzero()
    range(ci[1])
    torch.split(m, ci.tolist())
    torch.histc(m)
    F.ctc_loss(w[:, None].log_softmax(-1), ci[None, :1] + 1, torch.tensor([3]), torch.tensor([1]))
    m.to_sparse()
    torch.cdist(m, m)
    torch.distributions.Categorical(m.softmax(-1)).sample()
"""
for line in map(str.strip, WAITING.strip().splitlines()):
    if "= 0" in line:
        line = line.replace("m[m > 1] = 0", "m.__setitem__(m > 1, 0)")
    expressions(f"sync(lambda: {line})", names)
expressions("sync(lambda: m.sum().item(), 'warn')\nsync(lambda: m, 'other')", names, warnings=True)
