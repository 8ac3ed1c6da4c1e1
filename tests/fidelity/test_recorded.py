"""Virtual devices answer as a real one that was recorded, but for what known.toml explains. Only the
kinds that are quickly asked and do not depend on the host's instructions, and one recording: `make
test-fidelity` has all."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RECORDING = HERE / "nvidia-h100-80gb-hbm3-2.11.0.json"
QUICK = ["random", "numbers/ties", "errors/types", "memory/settings"]


def test_quick_kinds(tmp_path: Path) -> None:
    recordings = tmp_path / "recordings"
    recordings.mkdir()
    shutil.copy(RECORDING, recordings)
    options = ["--recordings", recordings, "--results", tmp_path, "--only", *QUICK]
    done = subprocess.run(
        [sys.executable, HERE / "run.py", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    differences = "".join(path.read_text()[:5000] for path in tmp_path.glob("*.differences.txt"))
    assert done.returncode == 0, done.stdout + done.stderr + differences
    rows = [line.split() for line in done.stdout.splitlines()]
    alike = {row[0]: int(row[1]) for row in rows if len(row) == 5 and row[1].isdecimal()}
    assert alike["random"] > 400 and alike["numbers"] > 450, done.stdout
