"""Refuses to run without CUDA although nothing in it needs CUDA."""

import sys

import torch

if not torch.cuda.is_available():
    print("no CUDA", file=sys.stderr)
    sys.exit(1)

torch.manual_seed(0)


def main():
    weights = torch.linspace(0, 1, 6).view(2, 3).cuda()
    x = torch.ones(4, 2, device="cuda")
    print((x @ weights).sum().item())
    print("%d" % (x @ weights).shape[0])


if __name__ == "__main__":
    main()
