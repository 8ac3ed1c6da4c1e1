"""A worker that is told its GPU by a number."""

import argparse

import torch
import torch.nn as nn


def worker(gpu, args):
    args.gpu = gpu
    torch.manual_seed(0)
    model = nn.Linear(2, 2)
    torch.cuda.set_device(args.gpu)
    model.cuda(args.gpu)
    criterion = nn.MSELoss().cuda(args.gpu)
    x = torch.ones(3, 2).cuda(args.gpu, non_blocking=True)
    target = torch.zeros(3, 2).cuda(args.gpu, non_blocking=True)
    print("%.4f" % criterion(model(x), target).item())
    loc = "cuda:{}".format(args.gpu)
    print(torch.zeros(2).to(loc).sum().item())


worker(0, argparse.Namespace(gpu=None))
