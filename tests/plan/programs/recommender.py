"""Trains a recommender: tables of embeddings, their products, and two towers of linear layers."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--tables", type=int, default=26)
parser.add_argument("--rows", type=int, default=100_000)
parser.add_argument("--width", type=int, default=64)
parser.add_argument("--batch", type=int, default=4096)
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--sparse", action="store_true")
parser.add_argument("--optimizer", default="sgd", choices=["sgd", "adagrad", "adam"])
parser.add_argument("--bags", type=int, default=1, help="indices of one example in a table")
args = parser.parse_args()


class Recommender(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(args.rows, args.width, mode="sum", sparse=args.sparse)
            for _ in range(args.tables)
        )
        self.bottom = nn.Sequential(
            nn.Linear(13, 512),
            nn.ReLU(),
            nn.Linear(512, 256),
            nn.ReLU(),
            nn.Linear(256, args.width),
            nn.ReLU(),
        )
        pairs = (args.tables + 1) * args.tables // 2
        self.top = nn.Sequential(
            nn.Linear(pairs + args.width, 1024),
            nn.ReLU(),
            nn.Linear(1024, 512),
            nn.ReLU(),
            nn.Linear(512, 1),
        )

    def forward(self, dense: torch.Tensor, sparse: torch.Tensor) -> torch.Tensor:
        x = self.bottom(dense)
        rows = torch.stack([x, *(table(sparse[i]) for i, table in enumerate(self.tables))], dim=1)
        products = rows @ rows.transpose(1, 2)
        i, j = torch.tril_indices(args.tables + 1, args.tables + 1, -1, device=x.device)
        return self.top(torch.cat([x, products[:, i, j]], dim=1)).squeeze(1)


torch.manual_seed(0)
model = Recommender().cuda()
optimizer = {
    "sgd": lambda: torch.optim.SGD(model.parameters(), lr=0.1),
    "adagrad": lambda: torch.optim.Adagrad(model.parameters(), lr=0.01),
    "adam": lambda: torch.optim.Adam(model.parameters(), lr=1e-3),
}[args.optimizer]()
for _ in range(args.steps):
    dense = torch.randn(args.batch, 13).cuda()
    sparse = torch.randint(0, args.rows, (args.tables, args.batch, args.bags)).cuda()
    clicks = torch.randint(0, 2, (args.batch,)).float().cuda()
    loss = nn.functional.binary_cross_entropy_with_logits(model(dense, sparse), clicks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()
