"""Comparisons with the name of a device decide what is done."""

import torch


def to_list(x):
    if x.is_cuda:
        x = x.cpu()
    return x.tolist()


def like(x):
    device = "cuda" if x.is_cuda else "cpu"
    return torch.ones(x.shape, device=device) + x


def same(x, y):
    return x.get_device() == y.get_device() and x.device.type == y.device.type


x = torch.arange(3).float().cuda()
print(to_list(x))
print(like(x).tolist())
print(same(x, like(x)))
