import torch
from torch import distributed


def setup(args, rank, backend="nccl"):
    args.dist_backend = "nccl"
    distributed.init_process_group("nccl", rank=rank)
