"""Trains a GPT in bfloat16 as small training scripts do, compiled and not. The losses must agree.

Causal attention by scaled_dot_product_attention, layer norms without biases, the embedding's weight
used again at the end, a fused AdamW, gradients added up, a scaler for float16, and an estimate of the
loss in between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS, SUM_OF, BATCH = 3, 2, 4


@dataclass
class Config:
    context: int = 32
    words: int = 96
    layers: int = 2
    heads: int = 2
    width: int = 32
    dropout: float = 0.0
    bias: bool = False


class Norm(nn.Module):
    def __init__(self, width: int, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Attention(nn.Module):
    def __init__(self, c: Config) -> None:
        super().__init__()
        self.heads, self.dropout = c.heads, c.dropout
        self.attend = nn.Linear(c.width, 3 * c.width, bias=c.bias)
        self.project = nn.Linear(c.width, c.width, bias=c.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, w = x.shape
        q, k, v = (
            part.view(b, t, self.heads, w // self.heads).transpose(1, 2)
            for part in self.attend(x).split(w, dim=2)
        )
        dropout = self.dropout if self.training else 0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        y = y.transpose(1, 2).contiguous().view(b, t, w)
        return F.dropout(self.project(y), self.dropout, self.training)


class Block(nn.Module):
    def __init__(self, c: Config) -> None:
        super().__init__()
        self.first, self.attention = Norm(c.width, c.bias), Attention(c)
        self.second = Norm(c.width, c.bias)
        self.mlp = nn.Sequential(
            nn.Linear(c.width, 4 * c.width, bias=c.bias),
            nn.GELU(),
            nn.Linear(4 * c.width, c.width, bias=c.bias),
            nn.Dropout(c.dropout),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class GPT(nn.Module):
    def __init__(self, c: Config) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(c.words, c.width), nn.Embedding(c.context, c.width)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.norm, self.head = Norm(c.width, c.bias), nn.Linear(c.width, c.words, bias=False)
        self.words.weight = self.head.weight
        for name, p in self.named_parameters():
            if p.dim() == 2:
                last = name.endswith("project.weight")
                nn.init.normal_(p, std=0.02 / (math.sqrt(2 * c.layers) if last else 1))

    def forward(
        self, tokens: torch.Tensor, targets: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        flat = logits.view(-1, logits.size(-1))
        return logits, F.cross_entropy(flat, targets.view(-1), ignore_index=-1)


def batch(words: int, context: int) -> tuple[torch.Tensor, torch.Tensor]:
    tokens = (torch.randint(words, (BATCH, 1)) + torch.arange(context + 1)) % words
    x, y = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    return tuple(t.pin_memory().to("cuda", non_blocking=True) for t in (x, y))


def train(compiled: bool) -> list[float]:
    torch.manual_seed(1337)
    c = Config()
    model: nn.Module = GPT(c).to("cuda")
    decay = [p for p in model.parameters() if p.dim() > 1]
    groups = [
        {"params": decay, "weight_decay": 0.1},
        {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.95), fused=True)
    scaler = torch.amp.GradScaler("cuda", enabled=False)
    if compiled:
        model = torch.compile(model)

    losses = []
    for _ in range(STEPS):
        for _ in range(SUM_OF):
            with torch.amp.autocast(device_type="cuda", dtype=torch.bfloat16):
                _, loss = model(*batch(c.words, c.context))
            scaler.scale(loss / SUM_OF).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
    model.eval()
    with torch.no_grad(), torch.amp.autocast(device_type="cuda", dtype=torch.bfloat16):
        losses.append(model(*batch(c.words, c.context))[1].item())
    return losses


plain, fast = train(compiled=False), train(compiled=True)
print(plain, fast)
assert plain[0] - plain[-1] > 0.01, plain
torch.testing.assert_close(fast, plain, rtol=2e-3, atol=0)
