"""What passed the gate on this machine, kept between clones as a compiler cache is."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from gate import caches

BELIEVED_DAYS = 7
# What the gate runs with and no commit names.
TOOLS = ("c++", "clang++-16", "cmake", "ninja", "node")


def record(environment: Mapping[str, str]) -> Path:
    """The file of the last pass: TORCHPORT_GATE_CACHE, or in ~/.cache/torchport."""
    return caches.folder(environment, "TORCHPORT_GATE_CACHE", "gate") / "passed"


def machine() -> str:
    """Another text where anything else than the sources is another."""
    found = [platform.platform(), platform.python_version()]
    for tool in TOOLS:
        try:
            done = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False)
            found.append(done.stdout)
        except OSError:
            found.append(f"no {tool}")
    return hashlib.sha256("\0".join(found).encode()).hexdigest()


def note(environment: Mapping[str, str], commit: str) -> None:
    path = record(environment)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"passed.{os.getpid()}")
    new.write_text(json.dumps({"commit": commit, "machine": machine(), "time": time.time()}))
    new.replace(path)


def last(environment: Mapping[str, str]) -> str:
    """The commit that passed here last; nothing if there is none, or if this is no longer the machine."""
    try:
        found = json.loads(record(environment).read_text())
        commit, of, when = str(found["commit"]), found["machine"], float(found["time"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    recent = 0 <= time.time() - when < BELIEVED_DAYS * 24 * 3600
    return commit if recent and of == machine() else ""
