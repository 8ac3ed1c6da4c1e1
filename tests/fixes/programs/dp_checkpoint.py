"""Saves what was trained in parallel, and loads it into the wrapper and into a plain model."""

import os
import tempfile

import torch
import torch.nn as nn


def build():
    torch.manual_seed(3)
    return nn.Linear(4, 2)


def save(path):
    model = nn.DataParallel(build().cuda())
    torch.save({"epoch": 2, "state_dict": model.state_dict()}, path)
    return model(torch.ones(2, 4).cuda()).sum().item()


def resume(path):
    model = nn.DataParallel(build()).cuda()
    checkpoint = torch.load(path)
    weights = {k if k.startswith("module.") else "module." + k: v for k, v in checkpoint["state_dict"].items()}
    model.load_state_dict(weights)
    return model(torch.ones(2, 4).cuda()).sum().item()


def use(path):
    model = build()
    checkpoint = torch.load(path)
    state = {k.replace("module.", ""): v for k, v in checkpoint["state_dict"].items()}
    model.load_state_dict(state)
    model.cuda()
    model.eval()
    with torch.no_grad():
        return model(torch.ones(2, 4).cuda()).sum().item()


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "last.pth")
    print("%.4f %.4f %.4f" % (save(path), resume(path), use(path)))
