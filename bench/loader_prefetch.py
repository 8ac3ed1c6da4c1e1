"""Compares torchport.loader with a plain loop over the same batches, on a virtual CUDA device.

In each round every way trains one epoch, in turn, in one process. The figures are medians of the
epochs and of their ratios to the plain loop of the same round. A copy to a virtual device is a copy
within the host's memory that is complete when the call returns. So only the reading of the dataset
overlaps with the training here, in a thread or in a worker, and not the copy.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable

os.environ["TORCHPORT_VIRTUAL"] = "cuda:1"

ROUNDS, BATCHES, BATCH = 7, 12, 64


def ways() -> dict[str, Callable[[], float]]:
    import torch
    import torchport

    torch.set_num_threads(1)
    torch.manual_seed(0)
    images = torch.randint(0, 256, (BATCHES * BATCH, 3, 64, 64), dtype=torch.uint8)

    class Images(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return len(images)

        def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
            image = images[index].float().div_(255)
            return torch.nn.functional.avg_pool2d(image.unsqueeze(0), 3, 1, 1)[0], index % 10

    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, stride=2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 16, 3, stride=2),
        torch.nn.Flatten(),
        torch.nn.LazyLinear(10),
    ).cuda()
    model(torch.zeros(1, 3, 64, 64, device="cuda"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(image: torch.Tensor, label: torch.Tensor) -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(image), label).backward()
        optimizer.step()

    def epoch(batches: Callable) -> Callable[[], float]:
        def run() -> float:
            start = time.perf_counter()
            for image, label in batches():
                step(image, label)
            torch.cuda.synchronize()
            return time.perf_counter() - start

        return run

    def plain(workers: int) -> Callable:
        loader = torch.utils.data.DataLoader(
            Images(), BATCH, num_workers=workers, persistent_workers=workers > 0, pin_memory=True
        )
        return lambda: ((image.cuda(), label.cuda()) for image, label in loader)

    def ours(workers: int, thread: bool) -> Callable:
        loader = torch.utils.data.DataLoader(
            Images(), BATCH, num_workers=workers, persistent_workers=workers > 0
        )
        ahead = torchport.loader(loader, "cuda", thread=thread)
        return lambda: ahead

    return {
        "plain loop": epoch(plain(0)),
        "loader(thread=True)": epoch(ours(0, True)),
        "loader(thread=False)": epoch(ours(0, False)),
        "plain loop, one worker": epoch(plain(1)),
        "loader, one worker": epoch(ours(1, True)),
    }


def main() -> int:
    all_ways = ways()
    for run in all_ways.values():
        run()  # workers start
    rounds = [{name: run() for name, run in all_ways.items()} for _ in range(ROUNDS)]
    for name in all_ways:
        seconds = statistics.median(one[name] for one in rounds)
        base = "plain loop, one worker" if "worker" in name else "plain loop"
        ratios = sorted(one[name] / one[base] for one in rounds)
        print(
            f"{name:24} {seconds:6.3f} s an epoch, {statistics.median(ratios):.2f} of the plain loop "
            f"({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
