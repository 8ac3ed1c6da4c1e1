import os
from dataclasses import dataclass

import torch


@dataclass
class Config:
    device: str = "cuda"


def build(config, args):
    first = torch.device(config.get("device", "cuda"))
    second = torch.device(getattr(args, "device", "cuda"))
    return first, second, os.getenv("DEVICE", "cuda")
