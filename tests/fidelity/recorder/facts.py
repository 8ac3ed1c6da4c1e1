"""What a device is and how a recording was made; nothing about people or paths."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

PROGRAM_VERSION = 1
PROGRAM = Path(__file__).resolve().parents[1]


def program_hash() -> str:
    """Of all files that ask: answers of programs with different hashes may not be comparable."""
    total = hashlib.sha256()
    for path in sorted([PROGRAM / "record.py", *PROGRAM.glob("recorder/*.py")]):
        total.update(path.read_bytes())
    for path in sorted(PROGRAM.glob("questions/*/*.py")):
        total.update(path.relative_to(PROGRAM).as_posix().encode() + path.read_bytes())
    return total.hexdigest()[:16]


def is_virtual() -> bool:
    """Whether the devices of this process are torchport's, and no real ones.

    Two ways to know: the variable that asks for them, and torchport's library in this process. A
    build of torch without CUDA has no real ones.
    """
    if (os.environ.get("TORCHPORT_VIRTUAL") or "none") != "none":
        return True
    if any(name.partition(".")[0] == "torchport" for name in sys.modules):
        return True
    maps = Path("/proc/self/maps")
    loaded = maps.read_text(errors="replace") if maps.exists() else ""
    return "libtorchport" in loaded or "+cpu" in torch.__version__


def device_facts() -> dict[str, Any]:
    """Facts of device 0. Initialises CUDA: call it in a child."""
    properties = torch.cuda.get_device_properties(0)
    return {
        "name": properties.name,
        "capability": list(torch.cuda.get_device_capability(0)),
        "memory": properties.total_memory,
        "multiprocessors": properties.multi_processor_count,
        "devices": torch.cuda.device_count(),
        "driver": driver_version(),
        "torch": torch.__version__,
        "revision": torch.version.git_version,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
    }


def driver_version() -> str | None:
    """As the driver itself says it ("550.54.15"); None for virtual devices, which have none."""
    if is_virtual():
        return None
    try:
        text = Path("/proc/driver/nvidia/version").read_text()
        found = re.search(r"\b\d{3}\.\d+(\.\d+)?\b", text)
        if found:
            return found[0]
    except OSError:
        pass
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    command = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout else None


def made() -> dict[str, Any]:
    return {
        "program": PROGRAM_VERSION,
        "hash": program_hash(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
    }


def file_name(device: dict[str, Any]) -> str:
    """ "nvidia-h100-80gb-hbm3-2.13.0.json" for a device and a release."""
    name = re.sub(r"[^a-z0-9]+", "-", device["name"].lower()).strip("-")
    return f"{name}-{device['torch'].partition('+')[0]}.json"
