"""Devices as defaults: of a parameter, of an option, of a field, of a setting."""

import argparse
from dataclasses import dataclass

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda", help="where to compute")
parser.add_argument("--gpu", default=0, type=int)
parser.add_argument("--size", default=4, type=int)
args = parser.parse_args([])


@dataclass
class Config:
    device: str = "cuda"
    size: int = 4


def grid(size, device="cuda"):
    return torch.stack(torch.meshgrid(torch.arange(size, device=device), torch.arange(size, device=device), indexing="ij"))


class Sampler:
    def __init__(self, size, device=torch.device("cuda:0")):
        self.size = size
        self.device = device

    def sample(self):
        return torch.full((self.size,), 0.5).to(self.device)


config = Config()
print(grid(args.size).sum().item())
print((grid(3, args.device) + torch.ones(3, 3).to(args.device)).sum().item())
print(Sampler(config.size).sample().sum().item())
print(torch.zeros(config.size, device=config.device).add(1).sum().item())
