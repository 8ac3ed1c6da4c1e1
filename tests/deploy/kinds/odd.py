"""Kinds of models that exporters have trouble with."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass

import torch
from kinds import kind
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils import _pytree as pytree


@kind("TransformerEncoder with a padding mask")
def padded():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
            self.of = nn.TransformerEncoder(layer, 2)

        def forward(self, x, padding):
            return self.of(x, src_key_padding_mask=padding)

    lengths = torch.tensor([6, 4, 5, 2])
    return Net(), {"x": torch.randn(4, 6, 16), "padding": torch.arange(6)[None] >= lengths[:, None]}


@kind("LSTM over packed sequences")
def packed():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.of = nn.LSTM(6, 8, batch_first=True)

        def forward(self, x, lengths):
            rows = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            return pad_packed_sequence(self.of(rows)[0], batch_first=True, total_length=x.shape[1])[
                0
            ]

    return Net(), {"x": torch.randn(4, 5, 6), "lengths": torch.tensor([5, 3, 4, 2])}


@kind("mixture of experts, each called with its rows")
def experts():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.route = nn.Linear(8, 3)
            self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

        def forward(self, x):
            best = self.route(x).argmax(-1)
            out = torch.zeros_like(x)
            for at, expert in enumerate(self.experts):
                rows = (best == at).nonzero()[:, 0]
                out = out.index_copy(0, rows, expert(x[rows]))
            return out

    return Net(), torch.randn(12, 8)


@kind("mixture of experts, all computed and weighted")
def dense_experts():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.route = nn.Linear(8, 3)
            self.experts = nn.Parameter(torch.randn(3, 8, 8))

        def forward(self, x):
            return torch.einsum("nd,edf,ne->nf", x, self.experts, self.route(x).softmax(-1))

    return Net(), torch.randn(4, 8)


@kind("detector that keeps boxes above a score")
def detector():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Conv2d(3, 5, 1)

        def forward(self, image):
            found = self.head(image).flatten(2).transpose(1, 2).reshape(-1, 5)
            kept = found[:, 4].sigmoid() > 0.5
            return found[kept, :4], found[kept, 4]

    return Net(), torch.randn(1, 3, 6, 6)


@kind("branch on a value")
def branch():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            if x.sum() > 0:
                return self.up(x)
            return self.down(x)

    return Net(), torch.ones(4, 4)


@kind("branch by torch.cond")
def conditional():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: self.up(x), lambda x: self.down(x), (x,))

    return Net(), torch.ones(4, 4)


@kind("loop whose length is a value")
def loop():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.of = nn.Linear(4, 4)

        def forward(self, x, steps):
            for _ in range(int(steps)):
                x = torch.tanh(self.of(x))
            return x

    return Net(), {"x": torch.randn(4, 4), "steps": torch.tensor(3)}


Pair = namedtuple("Pair", "mean spread")


@kind("named tuple as output")
def pair():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.of = nn.Linear(4, 4)

        def forward(self, x):
            y = self.of(x)
            return Pair(y.mean(-1), y.std(-1))

    return Net(), torch.randn(4, 4)


@dataclass
class Scores:
    logits: torch.Tensor
    hidden: torch.Tensor


pytree.register_dataclass(Scores)


@kind("dataclass as output")
def scores():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.of, self.out = nn.Linear(4, 4), nn.Linear(4, 2)

        def forward(self, x):
            hidden = self.of(x).relu()
            return Scores(self.out(hidden), hidden)

    return Net(), torch.randn(4, 4)


@kind("nested inputs, one of them None, and a flag")
def nested():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.of = nn.Linear(4, 4)

        def forward(self, batch, bias=None, double=False):
            y = self.of(batch["a"]) + batch["rest"][0]
            y = y if bias is None else y + bias
            return 2 * y if double else y

    inputs = {
        "batch": {"a": torch.randn(4, 4), "rest": [torch.randn(4, 4)]},
        "bias": None,
        "double": True,
    }
    return Net(), inputs


@kind("spectrogram (complex numbers inside)")
def spectrogram():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("window", torch.hann_window(32))
            self.out = nn.Linear(17, 4)

        def forward(self, sound):
            z = torch.stft(sound, 32, 16, window=self.window, return_complex=True)
            return self.out(z.abs().square().clamp_min(1e-6).log().mean(-1))

    return Net(), torch.randn(4, 160)


@kind("complex numbers as output")
def complex_output():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = nn.Parameter(torch.randn(9))

        def forward(self, x):
            return torch.fft.rfft(x) * self.gain

    return Net(), torch.randn(4, 16)


@kind("variational autoencoder that draws random numbers")
def variational():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean, self.spread, self.out = (nn.Linear(6, 6) for _ in range(3))

        def forward(self, x):
            mean = self.mean(x)
            return self.out(mean + torch.randn_like(mean) * self.spread(x).exp())

    return Net(), torch.randn(4, 6)


@kind("dropout that stays on in evaluation mode")
def always_dropping():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.of = nn.Linear(64, 64)

        def forward(self, x):
            return F.dropout(self.of(x), 0.5)

    return Net(), torch.randn(4, 64)


class _Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, steps):
        ctx.save_for_backward(x)
        return (x * steps).round() / steps

    @staticmethod
    def backward(ctx, grad):
        return grad, None


@kind("torch.autograd.Function of its own")
def own_function():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.of = nn.Linear(6, 6)

        def forward(self, x):
            return _Straight.apply(self.of(x), 0.001)

    return Net(), torch.randn(4, 6)


@kind("float16 weights")
def half():
    return nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 3)).half(), torch.randn(
        4, 8
    ).half()


@kind("bfloat16 weights")
def brain():
    return nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 3)).bfloat16(), torch.randn(
        4, 8
    ).bfloat16()


@kind("float64 weights")
def double():
    return nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3)).double(), torch.randn(
        4, 8
    ).double()


@kind("dynamic int8 quantization (torch.ao)")
def dynamic_int8():
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    return torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, torch.qint8), torch.randn(
        4, 16
    )


@kind("static int8 quantization (torch.ao)")
def static_int8():
    ao = torch.ao.quantization
    layers = [nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    model = nn.Sequential(ao.QuantStub(), *layers, nn.Linear(8, 4), ao.DeQuantStub()).eval()
    model.qconfig = ao.get_default_qconfig("x86")
    ao.prepare(model, inplace=True)
    model(torch.randn(8, 3, 8, 8))
    return ao.convert(model), torch.randn(4, 3, 8, 8)


@kind("compiled TorchScript as the model")
def compiled():
    return torch.jit.script(
        nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    ), torch.randn(4, 8)


@kind("counter in a buffer that the result reads")
def counter():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(1))

        def forward(self, x):
            self.n += 1
            return x * self.n

    return Net(), torch.randn(4, 4)


@kind("normalizing flow with a triangular solve")
def flow():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.of = nn.Parameter(torch.eye(4) + 0.1 * torch.randn(4, 4).tril(-1))

        def forward(self, x):
            y = torch.linalg.solve_triangular(self.of, x.T, upper=False).T
            return y, self.of.diagonal().abs().log().sum().expand(x.shape[0])

    return Net(), torch.randn(4, 4)


@kind("ensemble by vmap")
def ensemble():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = nn.Parameter(torch.randn(3, 6, 6))

        def forward(self, x):
            return torch.vmap(lambda w: torch.tanh(x @ w))(self.weights).mean(0)

    return Net(), torch.randn(4, 6)


@kind("greedy generation with a fixed number of steps")
def greedy():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.of, self.out = nn.Embedding(20, 8), nn.Linear(8, 20)

        def forward(self, ids):
            for _ in range(4):
                following = self.out(self.of(ids).mean(1)).argmax(-1, keepdim=True)
                ids = torch.cat([ids, following], 1)
            return ids

    return Net(), torch.randint(20, (4, 3))


@kind("top-k and sorting")
def ranking():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.of = nn.Linear(8, 10)

        def forward(self, x):
            values, at = self.of(x).topk(3)
            return values, at, self.of(x).sort(-1).values

    return Net(), torch.randn(4, 8)


@kind("patches by unfold and fold")
def patches():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.of = nn.Linear(12, 12)

        def forward(self, image):
            cut = F.unfold(image, 2, stride=2).transpose(1, 2)
            return F.fold(self.of(cut).transpose(1, 2), image.shape[-2:], 2, stride=2)

    return Net(), torch.randn(4, 3, 8, 8)
