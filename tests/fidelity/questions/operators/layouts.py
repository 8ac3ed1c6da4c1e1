"""Strides, kernels of autograd and memory of layers and functions, by the memory format of the input."""

import torch
from recorder.database import few_numbers, outline, refusal, tensors_in
from recorder.registry import Question, add
from torch import nn
from torch.nn import functional as F

FORMATS = {
    "contiguous": lambda x: x.contiguous(),
    "channels last": lambda x: x.contiguous(memory_format=torch.channels_last),
    "transposed": lambda x: x.transpose(-1, -2).contiguous().transpose(-1, -2),
    "every second": lambda x: torch.cat([x, x], -1)[..., ::2],
    "expanded": lambda x: x[:1].expand(x.shape),
}
KINDS = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
LAYERS = {
    "conv": lambda: nn.Conv2d(8, 16, 3, padding=1),
    "conv stride 2": lambda: nn.Conv2d(8, 8, 3, stride=2),
    "conv dilated": lambda: nn.Conv2d(8, 8, 3, dilation=2),
    "conv groups": lambda: nn.Conv2d(8, 16, 3, groups=4),
    "conv depthwise": lambda: nn.Conv2d(8, 8, 3, groups=8),
    "conv 1x1": lambda: nn.Conv2d(8, 4, 1),
    "conv transposed": lambda: nn.ConvTranspose2d(8, 4, 3, stride=2),
    "conv then relu": lambda: nn.Sequential(nn.Conv2d(8, 4, 3), nn.ReLU()),
    "conv channels last": lambda: nn.Conv2d(8, 4, 3).to(memory_format=torch.channels_last),
    "batch norm": lambda: nn.BatchNorm2d(8),
    "batch norm eval": lambda: nn.BatchNorm2d(8).eval(),
    "batch norm without statistics": lambda: nn.BatchNorm2d(8, track_running_stats=False),
    "instance norm": lambda: nn.InstanceNorm2d(8, affine=True),
    "group norm": lambda: nn.GroupNorm(4, 8),
    "layer norm": lambda: nn.LayerNorm(12),
    "rms norm": lambda: nn.RMSNorm(12),
    "local response norm": lambda: nn.LocalResponseNorm(3),
    "max pool": lambda: nn.MaxPool2d(2),
    "avg pool": lambda: nn.AvgPool2d(2),
    "adaptive avg pool": lambda: nn.AdaptiveAvgPool2d(5),
    "adaptive avg pool 1": lambda: nn.AdaptiveAvgPool2d(1),
    "adaptive max pool": lambda: nn.AdaptiveMaxPool2d(5),
    "lp pool": lambda: nn.LPPool2d(2, 2),
    "upsample nearest": lambda: nn.Upsample(scale_factor=2),
    "upsample bilinear": lambda: nn.Upsample(scale_factor=2, mode="bilinear"),
    "upsample bicubic": lambda: nn.Upsample(size=(7, 9), mode="bicubic"),
    "pixel shuffle": lambda: nn.PixelShuffle(2),
    "pixel unshuffle": lambda: nn.PixelUnshuffle(2),
    "reflection pad": lambda: nn.ReflectionPad2d(2),
    "replication pad": lambda: nn.ReplicationPad2d(2),
    "zero pad": lambda: nn.ZeroPad2d(2),
    "prelu": lambda: nn.PReLU(8),
    "softmax": lambda: nn.Softmax(1),
    "log softmax": lambda: nn.LogSoftmax(-1),
    "gelu": lambda: nn.GELU(),
    "glu": lambda: nn.GLU(1),
    "dropout": lambda: nn.Dropout(0.5),
    "dropout2d": lambda: nn.Dropout2d(0.5),
    "linear": lambda: nn.Linear(12, 5),
    "linear without bias": lambda: nn.Linear(12, 5, bias=False),
    "unfold": lambda: nn.Unfold(3),
    "flatten": lambda: nn.Flatten(),
    "channel shuffle": lambda: nn.ChannelShuffle(2),
    "sum of channels": lambda: lambda x: x.sum(1),
    "mean of places": lambda: lambda x: x.mean((2, 3)),
    "max of rows": lambda: lambda x: x.max(2),
    "argmax": lambda: lambda x: x.argmax(1),
    "cumsum": lambda: lambda x: x.cumsum(2),
    "sort": lambda: lambda x: x.sort(1),
    "topk": lambda: lambda x: x.topk(3, 1),
    "cat": lambda: lambda x: torch.cat([x, x], 1),
    "stack": lambda: lambda x: torch.stack([x, x]),
    "where": lambda: lambda x: torch.where(x > 0, x, 0.0),
    "index": lambda: lambda x: x[:, [1, 3]],
    "mask": lambda: lambda x: x[x > 0],
    "gather": lambda: lambda x: x.gather(1, torch.zeros(x.shape, dtype=torch.int64, device="cuda")),
    "index_select": lambda: lambda x: x.index_select(1, torch.tensor([0, 2], device="cuda")),
    "add a row": lambda: lambda x: x + x[:, :, :1],
    "add another format": lambda: lambda x: x + torch.ones(x.shape, device="cuda", dtype=x.dtype),
    "clone": lambda: lambda x: x.clone(),
    "zeros_like": lambda: torch.zeros_like,
    "to float64": lambda: lambda x: x.double(),
    "flip": lambda: lambda x: x.flip(2),
    "roll": lambda: lambda x: x.roll(1, 2),
    "matmul": lambda: lambda x: x @ x.transpose(-1, -2),
    "einsum": lambda: lambda x: torch.einsum("nchw,nchv->nwv", x, x),
    "bmm": lambda: lambda x: torch.bmm(x[0], x[0].transpose(1, 2)),
    "interpolate antialiased": lambda: (
        lambda x: F.interpolate(x, size=(5, 5), mode="bilinear", antialias=True)
    ),
    "grid sample": lambda: (
        lambda x: F.grid_sample(
            x, torch.zeros(len(x), 4, 4, 2, device="cuda", dtype=x.dtype), align_corners=False
        )
    ),
    "cosine similarity": lambda: lambda x: F.cosine_similarity(x, x.flip(1)),
    "normalize": lambda: lambda x: F.normalize(x),
    "cross entropy": lambda: (
        lambda x: F.cross_entropy(
            x, torch.zeros(len(x), *x.shape[2:], dtype=torch.int64, device="cuda")
        )
    ),
    "mse": lambda: lambda x: F.mse_loss(x, torch.zeros_like(x)),
    "l1": lambda: lambda x: F.l1_loss(x, torch.zeros_like(x), reduction="none"),
}
SEQUENCES = {
    "lstm": lambda: nn.LSTM(12, 7, 2),
    "lstm batch first": lambda: nn.LSTM(12, 7, batch_first=True),
    "lstm both ways": lambda: nn.LSTM(12, 7, bidirectional=True),
    "lstm projected": lambda: nn.LSTM(12, 7, proj_size=3),
    "lstm without bias": lambda: nn.LSTM(12, 7, bias=False),
    "gru": lambda: nn.GRU(12, 7, 2),
    "rnn": lambda: nn.RNN(12, 7),
    "attention": lambda: AttendsToItself(12, 3),
    "attention batch first": lambda: AttendsToItself(12, 3, batch_first=True),
    "encoder layer": lambda: nn.TransformerEncoderLayer(12, 3, 24, 0.0, batch_first=True),
    "encoder layer eval": lambda: nn.TransformerEncoderLayer(12, 3, 24, batch_first=True).eval(),
    "embedding of ids": lambda: Embeds(),
    "conv1d": lambda: nn.Conv1d(6, 4, 3),
    "ctc": lambda: Ctc(),
}


class AttendsToItself(nn.MultiheadAttention):
    def forward(self, x):
        return super().forward(x, x, x)


class Embeds(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(9, 4, padding_idx=0)

    def forward(self, x):
        return self.table(torch.arange(x.numel(), device="cuda").reshape(x.shape) % 9) + x.sum()


class Ctc(nn.Module):
    def forward(self, x):
        targets = torch.ones(x.shape[1], 2, dtype=torch.int64, device="cuda")
        lengths = torch.full((x.shape[1],), len(x), device="cuda")
        return F.ctc_loss(x.float().log_softmax(2), targets, lengths, lengths * 0 + 2)


def told_of(make, x, dtype):
    torch.manual_seed(1)
    layer = make()
    if isinstance(layer, nn.Module):
        layer.to("cuda", dtype)
    x.requires_grad_()
    told = {"input": outline(x)}
    try:
        layer(x)
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        found = layer(x)
        told["bytes"] = torch.cuda.memory_allocated() - before
        outs = tensors_in(found)
        told["out"] = [[outline(o), type(o.grad_fn).__name__, few_numbers(o)] for o in outs]
        outs = [o for o in outs if o.requires_grad]
        if outs:
            sum(o.sum().float() for o in outs).backward()
            told["gradient"] = [outline(x.grad), few_numbers(x.grad)]
            if isinstance(layer, nn.Module):
                told["gradients"] = {
                    name: [outline(p.grad), few_numbers(p.grad)]
                    for name, p in layer.named_parameters()
                    if p.grad is not None
                }
    except Exception as error:
        told["raised"] = refusal(error)
    return told


def image(form, dtype):
    values = (torch.arange(4 * 8 * 10 * 12) * 7919 % 1009).double() / 1009 - 0.5
    return FORMATS[form](values.reshape(4, 8, 10, 12).to("cuda", dtype)).detach()


def sequence(dtype):
    values = (torch.arange(5 * 6 * 12) * 7919 % 1009).double() / 1009 - 0.5
    return values.reshape(5, 6, 12).to("cuda", dtype)


for name, make in LAYERS.items():
    for kind, dtype in KINDS.items():
        for form in FORMATS:

            def ask(make=make, form=form, dtype=dtype):
                return told_of(make, image(form, dtype), dtype)

            add(Question(f"{name} {kind} {form}", ask, tolerance=1e-2, warnings=True))
for name, make in SEQUENCES.items():
    for kind, dtype in KINDS.items():

        def ask_sequence(make=make, dtype=dtype):
            return told_of(make, sequence(dtype), dtype)

        add(Question(f"{name} {kind}", ask_sequence, tolerance=1e-2, warnings=True))
