"""Average the weights of several checkpoints, on the host.

    python tools/average_checkpoints.py out.pth runs/a/best.pth runs/b/best.pth
"""
from __future__ import print_function

import sys

import torch


def average(paths):
    mean = None
    for path in paths:
        state = torch.load(path, map_location="cpu")["state_dict"]
        if mean is None:
            mean = {k: v.clone().double() for k, v in state.items()}
        else:
            for k, v in state.items():
                mean[k] += v.double()
    return {k: v / len(paths) for k, v in mean.items()}


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: average_checkpoints.py OUT IN [IN ...]  (cuda or cpu checkpoints)")
    out, paths = sys.argv[1], sys.argv[2:]
    state = {k: v.float() for k, v in average(paths).items()}
    torch.save({"epoch": -1, "best_acc": 0.0, "state_dict": state}, out)
    print("averaged %d checkpoints into %s" % (len(paths), out))


if __name__ == "__main__":
    main()
