"""Measures kernels that `torchport nvcc` compiled against the same work in plain C++ with OpenMP.

Run it in the environment in which torchport is installed. One process takes both sides in turns, on the
same threads and with the same flags of the compiler; a figure is the median of the rounds' ratios. Then
the time of a barrier and of a shuffle, which are a switch between fibers each, and the time to compile
one file with `torchport nvcc` and with the host's compiler.
"""

from __future__ import annotations

import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCES = Path(__file__).parent / "kernels"
TORCHPORT = str(Path(sys.executable).parent / "torchport")
ROUNDS = 15
COMPILATIONS = 5
BOUNDS = {
    "elementwise": 1.5,
    "reduction with shuffles": 10.0,
    "reduction in shared memory": 10.0,
    "scan with cub": 10.0,
    "tiled matrix product": 10.0,
}
SWITCH = 20.0  # nanoseconds
ARCHITECTURE = "-arch=sm_90"
DEVICE = "cuda:1,profile=h100-80g"


def verdict(value: float, bound: float) -> str:
    return f"<= {bound:g}: {'reached' if value <= bound else 'MISSED'}"


def nvcc(*words: object, **how) -> subprocess.CompletedProcess:
    command = [TORCHPORT, "nvcc", ARCHITECTURE, *map(str, words)]
    return subprocess.run(command, check=True, text=True, **how)


def flags() -> list[str]:
    """What nvcc tells the host's compiler of optimization and of the processor."""
    steps = nvcc("--dryrun", SOURCES / "kernels.cu", stderr=subprocess.PIPE).stderr
    compiles = next(line for line in steps.splitlines() if "c++-cpp-output" in line)
    return [
        word
        for word in shlex.split(compiles)
        if word.startswith(("-O", "-m", "-fno-trapping", "-fno-math"))
    ]


def measure(program: Path, threads: int) -> None:
    # Threads of OpenMP that wait actively would take the processors of the kernels.
    environment = {
        **os.environ,
        "TORCHPORT_VIRTUAL": DEVICE,
        "OMP_NUM_THREADS": str(threads),
        "OMP_WAIT_POLICY": "passive",
    }
    done = subprocess.run(
        [program, str(ROUNDS)], env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    print(
        f"{f'{threads} threads' if threads > 1 else '1 thread':30}{'kernel':>9}{'OpenMP':>9}   ms"
    )
    for line in done.stdout.splitlines():
        name, *figures = line.split("\t")
        values = [float(one) for one in figures]
        if len(values) == 1:
            print(f"{name:30}{values[0]:9.1f} ns a thread   {verdict(values[0], SWITCH)}")
            continue
        kernel, plain, ratio = values
        print(f"{name:30}{kernel:9.3f}{plain:9.3f}   {ratio:7.2f} {verdict(ratio, BOUNDS[name])}")


def measure_compilation(folder: Path, options: list[str]) -> None:
    source = SOURCES / "plain.cpp"
    sides = {
        "nvcc": [TORCHPORT, "nvcc", "-x", "cu", "-Xcompiler=-fopenmp", "-c", source],
        "g++": ["g++", *options, "-fopenmp", "-c", source],
    }
    times: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(COMPILATIONS):
        for side, command in sides.items():
            start = time.perf_counter()
            subprocess.run([*command, "-o", folder / "compiled.o"], check=True)
            times[side].append(time.perf_counter() - start)
    ratio = statistics.median(a / b for a, b in zip(*times.values(), strict=True))
    seconds = {side: statistics.median(values) for side, values in times.items()}
    print(f"{'compiling':30}{seconds['nvcc']:9.2f}{seconds['g++']:9.2f}   s {ratio:5.2f} of g++")


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = flags()
        plain = folder / "plain.o"
        subprocess.run(
            ["g++", *options, "-fopenmp", "-c", SOURCES / "plain.cpp", "-o", plain], check=True
        )
        program = folder / "kernels"
        nvcc(SOURCES / "kernels.cu", plain, "-Xcompiler=-fopenmp", "-o", program)
        processors = len(os.sched_getaffinity(0))
        for threads in sorted({1, processors}):
            measure(program, threads)
        measure_compilation(folder, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
