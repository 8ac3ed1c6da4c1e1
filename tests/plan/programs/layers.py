"""Trains small models of torch.nn alone: recurrent layers, a transformer, an autoencoder, a graph, a sound encoder."""

import argparse
import itertools

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument(
    "--model",
    default="lstm",
    choices=["lstm", "gru", "transformer", "autoencoder", "gan", "graph", "sound"],
)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--length", type=int, default=256)
parser.add_argument("--width", type=int, default=512)
parser.add_argument("--layers", type=int, default=2)
parser.add_argument("--steps", type=int, default=3)
args = parser.parse_args()
torch.manual_seed(0)
B, L, W = args.batch, args.length, args.width


class Recurrent(nn.Module):
    def __init__(self, kind: type) -> None:
        super().__init__()
        self.words = nn.Embedding(10000, W)
        self.layers = kind(W, W, args.layers, batch_first=True, dropout=0.2)
        self.out = nn.Linear(W, 10000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.layers(self.words(x))[0])


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(10000, W)
        layer = nn.TransformerEncoderLayer(W, 8, 4 * W, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, args.layers, enable_nested_tensor=False)
        self.out = nn.Linear(W, 10000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
        return self.out(self.layers(self.words(x), mask=mask, is_causal=True))


def down(a: int, b: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(a, b, 4, 2, 1), nn.BatchNorm2d(b), nn.LeakyReLU(0.2, inplace=True)
    )


def up(a: int, b: int) -> nn.Module:
    return nn.Sequential(
        nn.ConvTranspose2d(a, b, 4, 2, 1), nn.BatchNorm2d(b), nn.ReLU(inplace=True)
    )


class Graph(nn.Module):
    """Sums over edges, then a linear layer, some times."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(W, W) for _ in range(args.layers))

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = F.relu(layer(torch.zeros_like(x).index_add_(0, edges[1], x[edges[0]])))
        return x


class Sound(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        widths = [1, 64, 128, 256, W]
        self.layers = nn.Sequential(
            *(
                nn.Sequential(nn.Conv1d(a, b, 9, 4, 4), nn.BatchNorm1d(b), nn.GELU())
                for a, b in itertools.pairwise(widths)
            )
        )
        self.out = nn.Linear(W, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.layers(x).transpose(1, 2)).log_softmax(-1)


def run(modules: list[nn.Module], losses) -> None:
    optimizers = [torch.optim.Adam(one.parameters(), lr=1e-4) for one in modules]
    for _ in range(args.steps):
        for optimizer, loss in zip(optimizers, losses, strict=True):
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()


if args.model in {"lstm", "gru", "transformer"}:
    make = {
        "lstm": lambda: Recurrent(nn.LSTM),
        "gru": lambda: Recurrent(nn.GRU),
        "transformer": Encoder,
    }
    model = make[args.model]().cuda()

    def loss() -> torch.Tensor:
        x = torch.randint(0, 10000, (B, L)).cuda()
        return F.cross_entropy(model(x).flatten(0, 1), x.flatten())

    run([model], [loss])
elif args.model in {"autoencoder", "gan"}:
    below = nn.Sequential(
        nn.Conv2d(3, 64, 4, 2, 1), down(64, 128), down(128, 256), down(256, W), nn.Flatten()
    ).cuda()
    above = nn.Sequential(
        nn.Unflatten(1, (W, 4, 4)),
        up(W, 256),
        up(256, 128),
        up(128, 64),
        nn.ConvTranspose2d(64, 3, 4, 2, 1),
        nn.Tanh(),
    ).cuda()
    if args.model == "autoencoder":
        both = nn.Sequential(below, above)

        def loss() -> torch.Tensor:
            x = torch.rand(B, 3, 64, 64).cuda()
            return F.mse_loss(both(x), x)

        run([both], [loss])
    else:
        critic = nn.Sequential(below, nn.Linear(16 * W, 1)).cuda()

        def judge() -> torch.Tensor:
            x = torch.rand(B, 3, 64, 64).cuda()
            made = above(torch.randn(B, 16 * W, device="cuda")).detach()
            return F.softplus(-critic(x)).mean() + F.softplus(critic(made)).mean()

        def forge() -> torch.Tensor:
            return F.softplus(-critic(above(torch.randn(B, 16 * W, device="cuda")))).mean()

        run([critic, above], [judge, forge])
elif args.model == "graph":
    model = Graph().cuda()
    nodes = torch.randn(B * L, W).cuda()
    edges = torch.randint(0, B * L, (2, 8 * B * L)).cuda()
    run([model], [lambda: model(nodes, edges).pow(2).mean()])
else:
    model = Sound().cuda()

    def loss() -> torch.Tensor:
        x = torch.randn(B, 1, L * 256).cuda()
        scores = model(x).transpose(0, 1)
        words = torch.randint(1, 32, (B, 20)).cuda()
        lengths = torch.full((B,), scores.shape[0], dtype=torch.long)
        return F.ctc_loss(scores, words, lengths, torch.full((B,), 20, dtype=torch.long))

    run([model], [loss])
torch.cuda.synchronize()
