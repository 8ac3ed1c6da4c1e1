import math

import torch
import torch.nn as nn


class AttentionPool(nn.Module):
    """Weighted mean over positions, one query a head."""

    def __init__(self, channels, heads=4):
        super(AttentionPool, self).__init__()
        self.heads = heads
        self.key = nn.Conv2d(channels, heads, 1)
        # a plain attribute on purpose: it is no weight and should not be saved
        self.temperature = torch.full((1, heads, 1), 1.0 / math.sqrt(heads))

    def forward(self, x):
        b, c, h, w = x.size()
        logits = self.key(x).view(b, self.heads, h * w)
        logits = logits * self.temperature.cuda()
        logits = logits + self.center_bias(x)
        attn = torch.softmax(logits, dim=-1)
        values = x.view(b, c, h * w)
        pooled = torch.einsum("bhn,bcn->bhc", attn, values.to(attn.dtype))
        return pooled.reshape(b, self.heads * c)

    def center_bias(self, x):
        h, w = x.size(2), x.size(3)
        ys = torch.arange(h, device=x.device, dtype=torch.float32)
        xs = torch.arange(w, device=x.device, dtype=torch.float32)
        ys = (ys - (h - 1) / 2.0) / h
        xs = (xs - (w - 1) / 2.0) / w
        dist = ys.view(h, 1) ** 2 + xs.view(1, w) ** 2
        return -0.1 * dist.view(1, 1, h * w)


class ChannelGate(nn.Module):
    """Squeeze and excitation with a learned gate that starts open."""

    def __init__(self, channels, reduction=4):
        super(ChannelGate, self).__init__()
        self.fc1 = nn.Linear(channels, channels // reduction)
        self.fc2 = nn.Linear(channels // reduction, channels)
        self.open_bias = torch.ones(channels).cuda()

    def forward(self, x):
        s = x.mean(dim=3).mean(dim=2)
        s = torch.relu(self.fc1(s))
        s = torch.sigmoid(self.fc2(s) + self.open_bias.type_as(s))
        return x * s.unsqueeze(-1).unsqueeze(-1)
