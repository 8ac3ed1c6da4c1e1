"""Tensors that a module makes: in its constructor, in its forward, and in its hidden state."""

import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, width, length=16):
        super().__init__()
        position = torch.arange(length).unsqueeze(1).float()
        div = torch.exp(torch.arange(0, width, 2).float() * (-math.log(10000.0) / width))
        pe = torch.zeros(length, width)
        pe[:, 0::2] = torch.sin(position * div)
        pe[:, 1::2] = torch.cos(position * div)
        self.pe = pe.cuda()

    def forward(self, x):
        return x + self.pe[: x.size(1)]


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.positions = PositionalEncoding(width)
        self.rnn = nn.LSTM(width, width, batch_first=True)

    def init_hidden(self, batch):
        return (torch.zeros(1, batch, self.width).cuda(), torch.zeros(1, batch, self.width).cuda())

    def forward(self, x):
        hidden = self.init_hidden(x.size(0))
        out, _ = self.rnn(self.positions(x), hidden)
        steps = torch.arange(x.size(1)).cuda()
        mask = torch.triu(torch.ones(x.size(1), x.size(1)), diagonal=1).cuda()
        return out * (steps + 1).view(1, -1, 1), mask


torch.manual_seed(0)
model = Encoder(4).cuda()
out, mask = model(torch.ones(2, 3, 4).cuda())
print(tuple(out.shape), "%.4f" % out.sum().item(), mask.sum().item())
