"""Runs the installed program for the tests of plans."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(os.environ.get("TORCHPORT_BINARY", Path(sys.executable).parent / "torchport"))


def torchport(*words: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [str(PROGRAM), *map(str, words)]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
