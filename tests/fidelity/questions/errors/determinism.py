"""What deterministic mode refuses, and what it warns of."""

import torch
from recorder.registry import expressions
from torch import nn
from torch.nn import functional as F


def deterministic(function, warn_only=False):
    torch.use_deterministic_algorithms(True, warn_only=warn_only)
    try:
        return function()
    finally:
        torch.use_deterministic_algorithms(False)


def backward(result):
    result.sum().backward()
    return "went on"


def names():
    m = torch.arange(9.0, device="cuda").reshape(3, 3)
    i4 = torch.ones(1, 1, 4, 4, device="cuda", requires_grad=True)
    return {
        "torch": torch, "F": F, "nn": nn, "m": m, "i4": i4, "ci": torch.arange(3, device="cuda"),
        "w": torch.ones(3, 3, device="cuda", requires_grad=True), "sp": torch.eye(3).cuda().to_sparse(),
        "det": deterministic, "back": backward, "i3": i4[None],
    }  # fmt: skip


DETERMINISM = """
    m @ m
    torch.bmm(m[None], m[None])
    m.scatter_add(0, ci[None], m)
    m.scatter_reduce(0, ci[None], m, 'sum')
    m.scatter_reduce(0, ci[None], m, 'prod')
    m.scatter_reduce(0, ci[None], m, 'amax')
    m.scatter(0, ci[None], m)
    m.index_add(0, ci, m)
    m.index_copy(0, ci, m)
    m.index_put((ci,), m, accumulate=True)
    m.index_put((ci,), m)
    m.put(ci, m[0], accumulate=True)
    m.put(ci, m[0])
    m.index_reduce(0, ci, m, 'prod')
    torch.bincount(ci)
    torch.bincount(ci, weights=m[0])
    torch.histc(m)
    torch.cumsum(m, 0)
    torch.cumsum(ci, 0)
    torch.kthvalue(m, 2)
    torch.median(m)
    torch.median(m, 0)
    torch.mode(m)
    torch.sort(m)
    torch.unique(m)
    torch.nansum(m)
    torch.empty(3, device='cuda')
    torch.empty(3, device='cuda', dtype=torch.long)
    torch.empty(2, device='cuda').resize_(5)
    back(F.embedding(ci, w))
    back(F.embedding_bag(ci[None], w, mode='max'))
    back(F.embedding_bag(ci[None], w))
    back(F.max_pool2d(i4, 2))
    back(F.adaptive_max_pool2d(i4, 2))
    back(F.max_pool3d(i3, (1, 2, 2)))
    back(F.avg_pool3d(i3, (1, 2, 2)))
    back(F.adaptive_avg_pool2d(i4, 2))
    back(F.adaptive_avg_pool3d(i3, 2))
    back(F.adaptive_max_pool3d(i3, (1, 2, 2)))
    back(F.fractional_max_pool2d(i4, 2, output_size=2))
    F.max_unpool2d(i4, torch.arange(16, device='cuda').reshape(1, 1, 4, 4), 1)
    back(F.interpolate(i4, scale_factor=2, mode='bilinear'))
    back(F.interpolate(i4, scale_factor=2, mode='bicubic'))
    back(F.interpolate(i4, scale_factor=2, mode='nearest'))
    back(F.interpolate(i3, scale_factor=2, mode='trilinear'))
    back(F.interpolate(i4[0], scale_factor=2, mode='linear'))
    back(F.pad(i4, (1, 1, 1, 1), mode='reflect'))
    back(F.pad(i4, (1, 1, 1, 1), mode='replicate'))
    back(F.pad(i4[0], (1, 1), mode='reflect'))
    back(F.pad(i4[0], (1, 1), mode='replicate'))
    back(F.pad(i3, (1, 1, 1, 1, 0, 0), mode='replicate'))
    back(F.grid_sample(i4, torch.zeros(1, 2, 2, 2, device='cuda')))
    back(F.cross_entropy(w, ci))
    back(F.nll_loss(w[:, :, None, None], ci[:, None, None]))
    back(F.ctc_loss(w[:, None].log_softmax(-1), ci[None, :1] + 1, torch.tensor([3]), torch.tensor([1])))
    back(F.conv2d(i4, i4))
    back(F.conv_transpose2d(i4, i4))
    back(F.conv3d(i3, i3))
    back(nn.LSTM(3, 2, device='cuda')(w)[0])
    back(nn.ReflectionPad3d(0)(i3))
    back(F.scaled_dot_product_attention(w[None, None], w[None, None], w[None, None]))
    back(torch.gather(w, 0, ci[None]))
    back(w.repeat_interleave(2, 0))
    back(w[ci])
    back(w.index_select(0, ci))
    back(w.cumsum(0))
    back(w.prod(0))
    back(w.take(ci))
    torch.sparse.mm(sp, m)
    torch.addmm(m, sp, m)
    m.map_(m, lambda a, b: a)
    torch.cdist(m, m)
    back(torch.cdist(w, m))
    torch.linalg.inv(m + 9 * torch.eye(3, device='cuda'))
    torch.fill(m, 1)
"""
for line in map(str.strip, DETERMINISM.strip().splitlines()):
    expressions(f"det(lambda: {line})", names, warnings=True)
    if "back(" in line or "scatter" in line:
        expressions(f"det(lambda: {line}, True)", names, warnings=True)
