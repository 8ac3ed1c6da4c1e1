"""Peak memory of loading a checkpoint, over that of the program before: load_peak.py FILE DEVICE."""

import json
import sys

import torch
import torchport

FILE, DEVICE = sys.argv[1:]


def make():
    return torch.nn.Sequential(*(torch.nn.Linear(1024, 1024, bias=False) for _ in range(64)))


def peak(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(key))


if DEVICE == "make":
    torchport.save(make(), FILE)
    raise SystemExit
torchport.load(FILE, into=lambda: torch.nn.Linear(1, 1), strict=False, device=DEVICE)  # warm
before = peak("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak starts anew
module = torchport.load(FILE, into=make, device=DEVICE)
total = sum(p.double().sum().item() for p in module.parameters())  # every page is touched
size = sum(p.numel() * 4 for p in module.parameters())
device = torch.cuda.max_memory_allocated() if DEVICE != "cpu" else 0
print(json.dumps({"size": size, "host": peak("VmHWM") - before, "device": device, "total": total}))
