"""Losses of small programs that draw all their numbers on the device: the first steps of training.

A virtual device draws the same numbers, so that each loss is the same but for rounding: floats are
compared to a hundredth.
"""

import torch
from recorder.registry import Question, add
from torch import nn
from torch.nn import functional as F

STEPS = 12
TOLERANCE = 1e-2


class Net(nn.Sequential):
    pass


def adam(model, lr=1e-3):
    return torch.optim.Adam(model.parameters(), lr=lr)


def sgd(model, lr=0.05):
    return torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4)


def losses(optimizer, step, *, scheduler=None, clip=None, model=None):
    """The loss of each step, and of the parameters at the end their sum and the sum of their squares."""
    told = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = step()
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        if scheduler:
            scheduler.step()
        told.append(round(loss.item(), 6))
    if model is not None:
        flat = torch.cat([p.detach().float().flatten() for p in model.parameters()])
        told += [round(flat.sum().item(), 4), round(flat.square().sum().item(), 4)]
    return told


def perceptron():
    model = Net(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 5)).cuda()
    optimizer = adam(model)

    def step():
        x, y = torch.randn(32, 20, device="cuda"), torch.randint(5, (32,), device="cuda")
        return F.cross_entropy(model(x), y)

    return losses(optimizer, step, model=model)


def made_on_the_device():
    with torch.device("cuda"):
        model = Net(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 5))
        table = nn.Embedding(50, 20)
    optimizer = sgd(nn.ModuleList([model, table]))

    def step():
        ids = torch.randint(50, (32,), device="cuda")
        return F.cross_entropy(model(table(ids)), ids % 5)

    return losses(optimizer, step, model=model)


def images(classes=10, size=32):
    return torch.rand(16, 3, size, size, device="cuda"), torch.randint(
        classes, (16,), device="cuda"
    )


def convolutional(dtype=None, last=False):
    with torch.device("cuda"):
        model = Net(
            nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1, groups=4), nn.GroupNorm(8, 64), nn.SiLU(), nn.Dropout2d(0.2),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, 10),
        )  # fmt: skip
    if last:
        model.to(memory_format=torch.channels_last)
    optimizer = sgd(model, 0.01)
    scaler = torch.amp.GradScaler("cuda", enabled=dtype == torch.half)

    def step():
        x, y = images()
        with torch.autocast("cuda", dtype=dtype, enabled=dtype is not None):
            return F.cross_entropy(model(x), y)

    if dtype != torch.half:
        return losses(optimizer, step, model=model)
    told = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = step()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        told += [round(loss.item(), 6), scaler.get_scale()]
    return told


def transformer(dtype=None, dropout=0.1):
    with torch.device("cuda"):
        layer = nn.TransformerEncoderLayer(
            64, 4, 128, dropout, F.gelu, batch_first=True, norm_first=True
        )
        model = nn.ModuleDict(
            {
                "embed": nn.Embedding(100, 64),
                "body": nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
                "head": nn.Linear(64, 100),
            }
        )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=STEPS + 1)

    def step():
        ids = torch.randint(100, (8, 24), device="cuda")
        with torch.autocast("cuda", dtype=dtype, enabled=dtype is not None):
            mask = nn.Transformer.generate_square_subsequent_mask(24, device="cuda")
            out = model["head"](model["body"](model["embed"](ids), mask=mask, is_causal=True))
            return F.cross_entropy(
                out[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), label_smoothing=0.1
            )

    return losses(optimizer, step, scheduler=scheduler, clip=1.0, model=model)


def recurrent(kind):
    with torch.device("cuda"):
        model = nn.ModuleDict(
            {
                "embed": nn.Embedding(50, 32),
                "body": getattr(nn, kind)(32, 48, 2, dropout=0.2, batch_first=True),
                "head": nn.Linear(48, 50),
            }
        )
    optimizer = adam(model, 5e-3)

    def step():
        ids = torch.randint(50, (8, 20), device="cuda")
        return F.cross_entropy(
            model["head"](model["body"](model["embed"](ids))[0]).flatten(0, 1), ids.flatten()
        )

    return losses(optimizer, step, clip=0.5, model=model)


def variational():
    with torch.device("cuda"):
        inside, outside = nn.Linear(64, 16), nn.Linear(8, 64)
    model = nn.ModuleList([inside, outside])
    optimizer = adam(model)

    def step():
        x = torch.bernoulli(torch.full((32, 64), 0.3, device="cuda"))
        mean, spread = inside(x).chunk(2, -1)
        z = mean + torch.randn_like(mean) * (spread / 2).exp()
        told = F.binary_cross_entropy_with_logits(outside(z), x, reduction="sum") / 32
        return told - 0.5 * (1 + spread - mean.square() - spread.exp()).sum(1).mean()

    return losses(optimizer, step, model=model)


def adversarial():
    with torch.device("cuda"):
        maker = Net(
            nn.ConvTranspose2d(16, 32, 4),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.ConvTranspose2d(32, 1, 4, 2, 1),
            nn.Tanh(),
        )
        judge = Net(nn.Conv2d(1, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 1, 4))
    one, two = adam(maker, 2e-3), adam(judge, 2e-3)
    told = []
    for _ in range(STEPS):
        real = torch.rand(16, 1, 8, 8, device="cuda") * 2 - 1
        made = maker(torch.randn(16, 16, 1, 1, device="cuda"))
        two.zero_grad()
        loss = F.softplus(-judge(real)).mean() + F.softplus(judge(made.detach())).mean()
        loss.backward()
        two.step()
        one.zero_grad()
        wish = F.softplus(-judge(made)).mean()
        wish.backward()
        one.step()
        told += [round(loss.item(), 6), round(wish.item(), 6)]
    return told


def diffusion():
    with torch.device("cuda"):
        model = Net(
            nn.Conv2d(2, 32, 3, padding=1),
            nn.GroupNorm(8, 32),
            nn.SiLU(),
            nn.Conv2d(32, 1, 3, padding=1),
        )
        alphas = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 100), 0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, fused=True)

    def step():
        x, noise = torch.rand(8, 1, 16, 16, device="cuda"), torch.randn(8, 1, 16, 16, device="cuda")
        at = torch.randint(100, (8, 1, 1, 1), device="cuda")
        a = alphas[at]
        noisy = a.sqrt() * x + (1 - a).sqrt() * noise
        return F.mse_loss(model(torch.cat([noisy, (at / 100).expand_as(x)], 1)), noise)

    return losses(optimizer, step, model=model)


def graph_network():
    with torch.device("cuda"):
        first, second = nn.Linear(16, 32), nn.Linear(32, 4)
        edges = torch.randint(200, (2, 1000))
        x, y = torch.randn(200, 16), torch.randint(4, (200,))
    model = nn.ModuleList([first, second])
    optimizer = adam(model, 1e-2)

    def spread(h):
        return torch.zeros_like(h).index_add_(0, edges[1], h[edges[0]]) / 5

    def step():
        h = F.dropout(F.elu(spread(first(x))), 0.5)
        return F.cross_entropy(spread(second(h)), y)

    return losses(optimizer, step, model=model)


def reinforcement():
    with torch.device("cuda"):
        model = Net(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
    optimizer = adam(model, 1e-2)

    def step():
        state = torch.empty(64, 4, device="cuda").uniform_(-1, 1)
        chosen = torch.distributions.Categorical(logits=model(state))
        action = chosen.sample()
        reward = (action == (state[:, 0] > 0).long()).float() - 0.3
        return -(chosen.log_prob(action) * reward).mean() - 0.01 * chosen.entropy().mean()

    return losses(optimizer, step, model=model)


def detection():
    with torch.device("cuda"):
        model = Net(nn.Conv2d(3, 16, 3, 2, 1), nn.Hardswish(), nn.Conv2d(16, 6, 1))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)

    def step():
        x, _ = images()
        out = model(x)
        boxes = torch.rand(16, 4, 16, 16, device="cuda")
        keep = torch.rand(16, 16, 16, device="cuda") < 0.1
        where = keep.unsqueeze(1).expand_as(boxes)
        return F.smooth_l1_loss(
            out[:, :4][where], boxes[where]
        ) + F.binary_cross_entropy_with_logits(out[:, 4], keep.float())

    return losses(optimizer, step, model=model)


def contrastive():
    with torch.device("cuda"):
        model = Net(nn.Linear(32, 64), nn.LayerNorm(64), nn.PReLU(), nn.Linear(64, 16))
    optimizer = torch.optim.Adamax(model.parameters(), lr=1e-2)

    def step():
        x = torch.randn(32, 32, device="cuda")
        a, b = (F.normalize(model(x + 0.1 * torch.randn_like(x)), dim=-1) for _ in range(2))
        return F.cross_entropy(a @ b.t() / 0.1, torch.arange(32, device="cuda"))

    return losses(optimizer, step, model=model)


def compiled():
    with torch.device("cuda"):
        model = Net(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, 5))
    optimizer = sgd(model)
    call = torch.compile(model)

    def step():
        x, y = torch.randn(32, 20, device="cuda"), torch.randint(5, (32,), device="cuda")
        return F.cross_entropy(call(x), y)

    return losses(optimizer, step, model=model)


PROGRAMS = {
    "perceptron": perceptron, "made on the device": made_on_the_device,
    "convolutional": convolutional, "convolutional, half": lambda: convolutional(torch.half),
    "convolutional, bfloat16, channels last": lambda: convolutional(torch.bfloat16, True),
    "transformer": transformer, "transformer, bfloat16": lambda: transformer(torch.bfloat16),
    "transformer without dropout": lambda: transformer(dropout=0.0),
    "LSTM": lambda: recurrent("LSTM"), "GRU": lambda: recurrent("GRU"), "RNN": lambda: recurrent("RNN"),
    "variational": variational, "adversarial": adversarial, "diffusion": diffusion,
    "graph network": graph_network, "reinforcement": reinforcement, "detection": detection,
    "contrastive": contrastive, "compiled": compiled,
}  # fmt: skip
for name, program in PROGRAMS.items():
    add(Question(name, program, alone=True, tolerance=TOLERANCE, seconds=200))
