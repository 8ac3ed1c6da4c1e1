"""Runs a program and writes what its CUDA devices had to hold.

    python measure.py OUT.json program.py [arguments]

The figures are the allocator's own: the same file runs on a real device and on a virtual one. `events` has
each allocation (+) and each release (-) in bytes, with the nearest lines of the program, so that two runs
can be compared step by step; `process` is what the driver says of this process. A virtual device adds `parts`,
what `torchport plan` estimates beside the allocator.
"""

from __future__ import annotations

import gzip
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path


def driver_bytes() -> int | None:
    """What the driver holds for this process, contexts and kernels included."""
    words = ["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"]
    try:
        told = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    for line in told.splitlines():
        pid, used = (one.strip() for one in line.split(","))
        if pid == str(os.getpid()) and used.isdigit():
            return int(used) << 20
    return None


def place(frames: list[dict]) -> str:
    """The innermost lines of Python, the nearest first."""
    lines = [f"{'/'.join(Path(one['filename']).parts[-2:])}:{one['line']}" for one in frames]
    return " < ".join([line for line in lines if ".cpp" not in line][:3])


def estimated() -> list[dict]:
    """What `torchport plan` estimates beside the allocator; nothing on a real device."""
    import torch

    if not os.environ.get("TORCHPORT_VIRTUAL"):
        return []
    from torchport.virtual import outside

    return outside.parts(torch, json.loads(torch.ops.torchport.describe()), 0)


def main() -> None:
    out, program, *arguments = sys.argv[1:]
    import torch

    if torch.version.cuda is None or os.environ.get("TORCHPORT_VIRTUAL"):
        import torchvision_operators

        names = torchvision_operators.name()  # noqa: F841
    if os.environ.get("TORCHPORT_VIRTUAL"):
        torch.ops.torchport.record_work()
    torch.cuda.init()
    torch.empty(1, device="cuda")
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    torch.cuda.memory._record_memory_history(context="alloc", stacks="python", max_entries=400_000)
    sys.argv = [program, *arguments]
    failed = None
    try:
        runpy.run_path(program, run_name="__main__")
    except torch.OutOfMemoryError as error:
        failed = str(error)
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    places: dict[str, int] = {}
    events = []
    for one in trace:
        sign = {
            "alloc": "+",
            "free_requested": "-",
            "segment_alloc": "S",
            "segment_free": "s",
            "oom": "!",
        }
        if one["action"] in sign:
            at = places.setdefault(place(one.get("frames", [])), len(places))
            events.append([sign[one["action"]], one["size"], at])
    stats = torch.cuda.memory_stats()
    written = {
        "program": Path(program).name,
        "arguments": arguments,
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(),
        "total": total,
        "others_hold": total - free,
        "failed": failed,
        "allocated": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.max_memory_reserved(),
        "requested": stats["requested_bytes.all.peak"],
        "retries": stats["num_alloc_retries"],
        "process": driver_bytes(),
        "parts": estimated(),
        "reserved_at_end": torch.cuda.memory_reserved(),
        "steps": len(events),
        "places": list(places),
        "events": events,
    }
    with gzip.open(out, "wt") as file:
        json.dump(written, file)


main()
