"""Forward and backward speed of the models, one line a GPU."""
from __future__ import print_function

import os
import sys
from functools import partial

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from models import build_model

DEFAULTS = {"device": "cuda", "batch_size": 64, "steps": 50}
# label of a row in the speed sheet
ROW_LABEL = {"cuda": "GPU (ms/batch)", "cpu": "host (ms/batch)"}

zeros_on_gpu = partial(torch.zeros, device="cuda")


def bench(name, device, batch_size, steps):
    model = build_model(name).to(device)
    images = torch.rand(batch_size, 1, 48, 48, device=device)
    target = zeros_on_gpu(batch_size, dtype=torch.int64).to(device)
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    for i in range(steps + 5):
        if i == 5:
            start.record()
        logits, _ = model(images)
        torch.nn.functional.cross_entropy(logits, target).backward()
    end.record()
    torch.cuda.synchronize(device)
    return start.elapsed_time(end) / steps


def main():
    settings = dict(DEFAULTS)
    if len(sys.argv) > 1:
        settings["batch_size"] = int(sys.argv[1])
    print(ROW_LABEL["cuda"])
    for i in range(torch.cuda.device_count()):
        settings["device"] = f"cuda:{i}"
        for name in ("small", "wide"):
            ms = bench(name, **settings)
            print("%-8s %-6s %8.2f" % (settings["device"], name, ms))
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
