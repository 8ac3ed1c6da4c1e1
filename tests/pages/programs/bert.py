"""A BERT of two layers, by hand, with a copy, a read, and tensors on two devices at its end."""

from __future__ import annotations

import torch
from torch import nn

WIDTH, HEADS = 64, 4


class SelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        query, key, value = (
            part(x).view(batch, length, HEADS, -1).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5 + mask
        mixed = self.dropout(scores.softmax(-1)) @ value
        return mixed.transpose(1, 2).reshape(batch, length, WIDTH)


class Output(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense, self.LayerNorm = nn.Linear(width, WIDTH), nn.LayerNorm(WIDTH)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        return self.LayerNorm(self.dropout(self.dense(x)) + before)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.self, self.output = SelfAttention(), Output(WIDTH)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.output(self.self(x, mask), x)


class Intermediate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense, self.intermediate_act_fn = nn.Linear(WIDTH, 4 * WIDTH), nn.GELU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.intermediate_act_fn(self.dense(x))


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention, self.intermediate = Attention(), Intermediate()
        self.output = Output(4 * WIDTH)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        attended = self.attention(x, mask)
        return self.output(self.intermediate(attended), attended)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.ModuleList(Layer() for _ in range(2))

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        for layer in self.layer:
            x = layer(x, mask)
        return x


class Embeddings(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(100, WIDTH)
        self.position_embeddings = nn.Embedding(512, WIDTH)
        self.token_type_embeddings = nn.Embedding(2, WIDTH)
        self.LayerNorm, self.dropout = nn.LayerNorm(WIDTH), nn.Dropout(0.1)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        places = torch.arange(ids.shape[1]).to(ids.device)
        kinds = self.token_type_embeddings(torch.zeros_like(ids))
        x = self.word_embeddings(ids) + self.position_embeddings(places) + kinds
        return self.dropout(self.LayerNorm(x))


class BertModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embeddings, self.encoder = Embeddings(), Encoder()
        self.pooler = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh())

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        mask = (1.0 - attention_mask[:, None, None, :].float()) * -1e4
        if mask.min() < 0:
            raise ValueError("no padding here")
        x = self.encoder(self.embeddings(input_ids), mask)
        scale_of_the_pooled_output_that_has_a_long_name = torch.ones(x.shape[0], x.shape[1], WIDTH)
        return self.pooler((x * scale_of_the_pooled_output_that_has_a_long_name)[:, 0])


def inputs() -> dict[str, torch.Tensor]:
    return {
        "input_ids": torch.ones(2, 7, dtype=torch.long),
        "attention_mask": torch.ones(2, 7, dtype=torch.long),
    }
