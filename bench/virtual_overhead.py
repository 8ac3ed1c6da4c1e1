"""Measures what a call of an operator costs on a virtual device above the same call on the CPU.

Run it in the environment in which torchport is installed. One thread calls operators on tensors of
four elements; the least of many rounds is the cost of the call itself. It prints microseconds per
call, and beside them the cost of PyTorch's own ways to intercept calls.
"""

from __future__ import annotations

import os
import subprocess
import sys
import timeit

CALLS = {
    "add": "torch.add(a, b)",
    "add_": "a.add_(b)",
    "add, out=": "torch.add(a, b, out=c)",
    "mul by a number": "a * 2.0",
    "view": "a.view(2, 2)",
    "sum": "a.sum()",
    "mm": "torch.mm(m, m)",
    "cat": "torch.cat((a, b))",
    "empty": "torch.empty(4, device=device)",
    "add, recorded": "torch.add(g, b)",
}
ROUNDS, COUNT = 60, 2000
BOUND = 1.0  # microseconds over the CPU, for torch.add


def measure() -> None:
    import torch

    torch.set_num_threads(1)
    names = {}
    for device in ("cpu", "cuda"):
        a, b, c = (torch.ones(4, device=device) for _ in range(3))
        m = torch.ones(2, 2, device=device)
        g = torch.ones(4, device=device, requires_grad=True)
        names[device] = {
            "torch": torch,
            "a": a,
            "b": b,
            "c": c,
            "m": m,
            "g": g,
            "device": torch.device(device),
        }
    print(f"{'':18}{'cpu':>8}{'virtual':>9}{'more':>7}   microseconds a call")
    for name, statement in CALLS.items():
        timers = {d: timeit.Timer(statement, globals=names[d]) for d in names}
        least = dict.fromkeys(timers, float("inf"))
        for _ in range(ROUNDS):  # in turns, so that noise affects both
            for device, timer in timers.items():
                least[device] = min(least[device], timer.timeit(COUNT) / COUNT * 1e6)
        cpu, virtual = least["cpu"], least["cuda"]
        verdict = ""
        if name == "add":
            verdict = f"  <= {BOUND}: {'reached' if virtual - cpu <= BOUND else 'MISSED'}"
        print(f"{name:18}{cpu:8.2f}{virtual:9.2f}{virtual - cpu:7.2f}{verdict}")
    measure_modes(names["cpu"])


def measure_modes(names: dict) -> None:
    """torch.add of CPU tensors under modes of PyTorch that see every operator, too."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._debug_mode import DebugMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Empty(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    def least(call) -> float:
        return min(timeit.repeat(call, number=COUNT // 10, repeat=ROUNDS)) / (COUNT // 10) * 1e6

    a, b = names["a"], names["b"]
    plain = least(lambda: torch.add(a, b))
    print(f"{'torch.add under':28}{'':7}{'more':>7}   values")
    with Empty():
        print(
            f"{'an empty TorchDispatchMode':28}{'':7}{least(lambda: torch.add(a, b)) - plain:7.2f}   real"
        )
    with FakeTensorMode() as mode:
        x, y = mode.from_tensor(a), mode.from_tensor(b)
        print(f"{'FakeTensorMode':28}{'':7}{least(lambda: torch.add(x, y)) - plain:7.2f}   none")
    with DebugMode():
        print(f"{'DebugMode':28}{'':7}{least(lambda: torch.add(a, b)) - plain:7.2f}   real")


def main() -> int:
    if os.environ.get("TORCHPORT_VIRTUAL"):
        measure()
        return 0
    environment = {**os.environ, "TORCHPORT_VIRTUAL": "cuda:1", "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, __file__], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
