"""Throughput of `torchport infer --engine ray` against plain `torchport infer` on one machine.

Run it with build/cluster/bin/python (`make test-cluster` makes it). Both compute the same rows with
the same artefact; the times are those of whole processes, so they contain the start of Ray, and
the ratio is also given for the time between the first and the last block.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torchport
from torch import nn

ROWS = 40_000
WIDTH = 1024
INFER = [str(Path(sys.executable).with_name("torchport")), "infer"]


def main() -> None:
    torch.manual_seed(0)
    layers = [part for _ in range(6) for part in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sample = torch.randn(4, WIDTH)
        torchport.export(nn.Sequential(*layers).eval(), sample, to="torchscript", path="net.pt")
        np.save("x.npy", np.random.default_rng(0).standard_normal((ROWS, WIDTH), dtype=np.float32))
        cores = os.cpu_count() or 1
        plain, plain_rate = measured("plain.npy", "--device", ",".join(["cpu"] * cores))
        print(f"torchport infer, {cores} workers: {plain:.1f} s, {plain_rate:.0f} rows/s")
        for workers in (1, cores):
            seconds, rate = measured("ray.npy", "--engine", "ray", "--workers", workers)
            print(
                f"--engine ray, {workers} workers: {seconds:.1f} s, {rate:.0f} rows/s; of the plain "
                f"rate {plain / seconds:.2f} as whole processes, {rate / plain_rate:.2f} without the start"
            )
            np.testing.assert_array_equal(np.load("plain.npy"), np.load("ray.npy"))


def measured(output: str, *words: object) -> tuple[float, float]:
    """The seconds of the whole process, and the rows a second that it reports."""
    begun = time.perf_counter()
    command = [*INFER, "net.pt", "x.npy", "-o", output, "--batch-size", "512", *map(str, words)]
    done = subprocess.run(
        command,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    rates = re.findall(r"([\d.]+) rows/s", done.stderr)
    return time.perf_counter() - begun, float(rates[-1])


main()
