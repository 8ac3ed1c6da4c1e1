"""Peak memory of training ResNet-50 on the device named, as the operating system counts it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import torch
from models import ResNet


def peak() -> int:
    """Of this program alone: getrusage's figure begins with that of the process it came from."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024


def main(device: str) -> None:
    torch.manual_seed(0)
    start = peak()
    net = ResNet(64, (3, 4, 6, 3), 1000).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for _ in range(2):
        x = torch.randn(8, 3, 96, 96).to(device)
        loss = net(x).logsumexp(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    cuda = torch.cuda.max_memory_allocated() if device != "cpu" else 0
    print(json.dumps({"start": start, "peak": peak(), "cuda": cuda, "loss": loss.item()}))


if __name__ == "__main__":
    main(sys.argv[1])
