"""Peaks of memory for each step of three networks in training and inference."""

import torch
from recorder.registry import question
from recorder.steps import Steps
from torch import nn
from torch.nn import functional as F


class Bottleneck(nn.Module):
    def __init__(self, inside, width, stride):
        super().__init__()
        outside = width * 4
        self.reduce = nn.Conv2d(inside, width, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.mix = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.widen = nn.Conv2d(width, outside, 1, bias=False)
        self.norm3 = nn.BatchNorm2d(outside)
        self.way = None
        if stride != 1 or inside != outside:
            self.way = nn.Sequential(
                nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside)
            )

    def forward(self, x):
        y = F.relu(self.norm1(self.reduce(x)), inplace=True)
        y = F.relu(self.norm2(self.mix(y)), inplace=True)
        y = self.norm3(self.widen(y))
        return F.relu(y + (x if self.way is None else self.way(x)), inplace=True)


def resnet50():
    """He et al. 2015: stages of 3, 4, 6 and 3 bottlenecks."""
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    layers.append(nn.MaxPool2d(3, 2, 1))
    inside = 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for index in range(count):
            layers.append(Bottleneck(inside, width, stride if index == 0 else 1))
            inside = width * 4
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, 1000))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """Radford et al. 2019, the smallest: 12 layers, 12 heads, 768 wide, 124 million parameters."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(50257, 768), nn.Embedding(1024, 768)
        self.blocks = nn.Sequential(*(Block(768, 12) for _ in range(12)))
        self.norm = nn.LayerNorm(768)

    def forward(self, ids):
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.norm(self.blocks(self.tokens(ids) + self.places(places)))
        return x @ self.tokens.weight.T


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(2000, 256)
        self.layers = nn.LSTM(256, 512, num_layers=2, batch_first=True)
        self.head = nn.Linear(512, 2000)

    def forward(self, ids):
        return self.head(self.layers(self.tokens(ids))[0])


def images():
    return torch.rand(2, 3, 64, 64), torch.tensor([3, 5])


def texts(vocabulary, length):
    ids = torch.randint(vocabulary, (2, length))
    return ids, ids.roll(-1, 1)


def train(make, batch, optimizer, dtype=None):
    steps = Steps()
    torch.manual_seed(0)
    model = make()
    model.cuda()
    steps.mark("model")
    optimizer = optimizer(model.parameters())
    inputs, targets = (tensor.cuda() for tensor in batch)
    steps.mark("batch")
    for _ in range(2):
        with torch.autocast("cuda", dtype=dtype, enabled=dtype is not None):
            outputs = model(inputs)
            loss = F.cross_entropy(outputs.flatten(0, -2), targets.flatten())
        steps.mark("forward")
        loss.backward()
        steps.mark("backward")
        optimizer.step()
        steps.mark("step")
        optimizer.zero_grad()
        steps.mark("zero_grad")
        del outputs, loss
    torch.cuda.synchronize()
    return steps.told()


def infer(make, batch, dtype=torch.float32):
    steps = Steps()
    torch.manual_seed(0)
    model = make().eval().to("cuda", dtype)
    inputs = batch[0].cuda()
    inputs = inputs.to(dtype) if inputs.is_floating_point() else inputs
    steps.mark("model")
    with torch.inference_mode():
        for _ in range(2):
            model(inputs)
            steps.mark("forward")
    torch.cuda.synchronize()
    return steps.told()


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


NETWORKS = {
    "ResNet-50": (resnet50, images, sgd),
    "GPT-2": (Gpt2, lambda: texts(50257, 32), torch.optim.AdamW),
    "LSTM": (Lstm, lambda: texts(2000, 32), torch.optim.Adam),
}
for name, (make, batch, optimizer) in NETWORKS.items():
    settings = {"alone": True, "seconds": 900}
    question(f"{name} trains", **settings)(
        lambda make=make, batch=batch, optimizer=optimizer: train(make, batch(), optimizer)
    )
    question(f"{name} trains in bfloat16", **settings)(
        lambda make=make, batch=batch, optimizer=optimizer: train(
            make, batch(), optimizer, torch.bfloat16
        )
    )
    question(f"{name} infers", **settings)(lambda make=make, batch=batch: infer(make, batch()))
    question(f"{name} infers in half", **settings)(
        lambda make=make, batch=batch: infer(make, batch(), torch.half)
    )
