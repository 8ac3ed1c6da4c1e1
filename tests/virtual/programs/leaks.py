"""100,000 allocations and 1,000 training steps: the counters come back to zero, the process stays
as large as it was."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import torch
import torch.nn as nn

PAGE = 4096


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def flat(name: str, work, rounds: int, limit: int = 16 * 2**20) -> None:
    """The second half of the rounds may not make the process larger."""
    work(rounds // 2)
    gc.collect()
    half = resident()
    work(rounds // 2)
    gc.collect()
    grown = resident() - half
    assert grown < limit, (name, grown)
    torch._C._cuda_clearCublasWorkspaces()  # which stay, as on a real device
    for device in range(torch.cuda.device_count()):
        assert torch.cuda.memory_allocated(device) == 0, (name, torch.cuda.memory_allocated(device))
    print("flat:", name, flush=True)


def allocations(rounds: int) -> None:
    held: list[torch.Tensor | None] = [None] * 50
    for i in range(rounds):
        held[i * 7 % 50] = torch.empty(100 + i * 997 % 100_000, device=f"cuda:{i % 2}")
    stats = torch.cuda.memory_stats(0)
    assert stats["allocation.all.allocated"] - stats["allocation.all.freed"] == 25


def views_and_resizes(rounds: int) -> None:
    for i in range(rounds):
        x = torch.zeros(1000, device="cuda")
        y = x.view(10, 100).t()[3:]
        x.resize_(5000 + i % 100)
        y = y + 1
        torch.add(x, 1, out=torch.empty(0, device="cuda"))


def training(rounds: int) -> None:
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten())
    net.append(nn.Linear(8 * 36, 10))
    net.cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(rounds):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = net(torch.randn(4, 3, 8, 8, device="cuda")).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def threads(rounds: int) -> None:
    """Allocations that one thread makes and another frees."""
    handed: list[torch.Tensor] = []
    errors: list[BaseException] = []

    def work(device: int) -> None:
        try:
            torch.cuda.set_device(device)
            for i in range(rounds):
                handed.append(torch.ones(1 + i % 1000, device="cuda") * 2)
                if len(handed) > 20:
                    assert handed.pop(0)[0] == 2
        except BaseException as error:  # seen by the main thread
            errors.append(error)

    every = [threading.Thread(target=work, args=(i % 2,)) for i in range(4)]
    for thread in every:
        thread.start()
    for thread in every:
        thread.join()
    handed.clear()
    if errors:
        raise errors[0]


if __name__ == "__main__":
    flat("allocations", allocations, 100_000)
    flat("views and resizes", views_and_resizes, 4_000)
    flat("training", training, 1_000)
    flat("threads", threads, 4_000)
