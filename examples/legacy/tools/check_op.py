"""Compare the CUDA kernel of ops/ with the plain PyTorch version."""
from __future__ import print_function

import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from ops import local_contrast, local_contrast_reference


def main():
    torch.manual_seed(0)
    for size in [(1, 1, 8, 8), (2, 3, 31, 17), (4, 1, 48, 48)]:
        x = torch.randn(*size, dtype=torch.float64)
        if torch.cuda.is_available():
            x = x.cuda()
        else:
            print("no GPU here, this only compares the reference with itself")
        for k in (3, 5, 9):
            a = x.clone().requires_grad_()
            b = x.clone().requires_grad_()
            ya, yb = local_contrast(a, k), local_contrast_reference(b, k)
            ya.pow(2).sum().backward()
            yb.pow(2).sum().backward()
            print("%-16s k=%d  forward %.2e  backward %.2e" % (
                size, k, (ya - yb).abs().max().item(),
                (a.grad - b.grad).abs().max().item()))
            assert torch.allclose(ya, yb) and torch.allclose(a.grad, b.grad)


if __name__ == "__main__":
    main()
