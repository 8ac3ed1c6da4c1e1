import torch


class FrozenBatchNorm2d(torch.nn.Module):
    """Batch norm whose statistics and parameters never change; timm only looks whether it is one."""
