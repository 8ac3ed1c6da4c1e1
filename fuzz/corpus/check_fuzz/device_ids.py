import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def wrap(model, args):
    return DDP(model.to(args.device), device_ids=[args.local_rank], output_device=args.local_rank)
