"""Measures loading a checkpoint of 1 GB into a model: torchport.load against what people write.

Each way runs in turn in a process of its own, with the file in the page cache. The time begins when
torch and the way's packages are imported, and ends when every weight was read once. It includes the
construction of the model, to which torchport.load and the meta device give no values of its own.
Peak memory is that of the process beyond what it had before the load, as a multiple of the model.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

RUNS = 5
WIDTH, LAYERS = 2896, 32  # 1.07 GB in float32
BOUND_MEMORY = 1.05


def model():  # type: ignore[no-untyped-def]
    import torch

    return torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)))


def plain_torch(folder: Path):  # type: ignore[no-untyped-def]
    import torch

    made = model()
    made.load_state_dict(torch.load(folder / "model.pt", weights_only=True))
    return made


def best_torch(folder: Path):  # type: ignore[no-untyped-def]
    import torch

    with torch.device("meta"):
        made = model()
    made.load_state_dict(torch.load(folder / "model.pt", mmap=True), assign=True)
    return made


def plain_safetensors(folder: Path):  # type: ignore[no-untyped-def]
    from safetensors.torch import load_file

    made = model()
    made.load_state_dict(load_file(folder / "model.safetensors"))
    return made


def torchport_torch(folder: Path):  # type: ignore[no-untyped-def]
    import torchport

    return torchport.load(folder / "model.pt", into=model)


def torchport_safetensors(folder: Path):  # type: ignore[no-untyped-def]
    import torchport

    return torchport.load(folder / "model.safetensors", into=model)


WAYS: dict[str, Callable] = {
    "torch.load, load_state_dict": plain_torch,
    "torch.load(mmap), meta device, assign": best_torch,
    "safetensors.load_file, load_state_dict": plain_safetensors,
    "torchport.load, torch.save's format": torchport_torch,
    "torchport.load, safetensors": torchport_safetensors,
}


def status(key: str) -> int:
    text = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith(key))


def one_way(name: str, folder: Path) -> None:
    import time

    import safetensors.torch  # noqa: F401
    import torch
    import torchport

    torchport.load  # noqa: B018 - its modules are imported by now
    torch.set_num_threads(1)
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    start = time.perf_counter()
    made = WAYS[name](folder)
    total = sum(parameter.detach().sum().item() for parameter in made.parameters())
    seconds = time.perf_counter() - start
    size = sum(parameter.numel() * 4 for parameter in made.parameters())
    print(json.dumps([seconds, (status("VmHWM") - before) / size, total]))


def measured(name: str, folder: Path) -> list[float]:
    words = [sys.executable, __file__, name, str(folder)]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    if len(sys.argv) == 3:
        one_way(sys.argv[1], Path(sys.argv[2]))
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make = (
            "import sys, torchport; sys.path.insert(0, sys.argv[1]); import checkpoint_loading as c;"
            "m = c.model(); [torchport.save(m, f'{sys.argv[2]}/model.{e}') for e in ('pt', 'safetensors')]"
        )
        subprocess.run([sys.executable, "-c", make, Path(__file__).parent, folder], check=True)
        found = {way: [measured(way, folder) for _ in range(0)] for way in WAYS}
        for _ in range(RUNS):
            for way in WAYS:
                found[way].append(measured(way, folder))
    totals = {run[2] for runs in found.values() for run in runs}
    assert len(totals) == 1, f"the ways loaded different weights: {totals}"
    base = statistics.median(run[0] for run in next(iter(found.values())))
    for way, runs in found.items():
        seconds = [run[0] for run in runs]
        peak = max(run[1] for run in runs)
        verdict = ""
        if way.startswith("torchport"):
            verdict = f"  <= {BOUND_MEMORY}: {'reached' if peak <= BOUND_MEMORY else 'MISSED'}"
        print(
            f"{way:40} {statistics.median(seconds):6.2f} s ({min(seconds):.2f} to {max(seconds):.2f}), "
            f"{statistics.median(seconds) / base:.2f} of the first; peak {peak:.2f} models{verdict}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
