"""Measures an installation: from an empty environment to the first finding, and the wheel's bytes.

    install.py [WHEEL]          else the one that `make wheel` wrote to dist/

Each run begins with an empty environment and an empty cache, has no network, and ends when `torchport check`
has reported the one finding of a small project. uv is fetched once into build/uv if it is not in the
PATH. What the start of a Python costs afterwards is measured by virtual_start.py.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS = 5
BOUND = 5.0  # seconds
TIED = "import torch\nx = torch.ones(2).cuda()\n"


def uv() -> Path | None:
    """The program uv; None if it is neither here nor can be fetched."""
    if found := shutil.which("uv"):
        return Path(found)
    folder = ROOT / "build/uv"
    program = folder / "bin/uv"
    if not program.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, "uv"]
        if subprocess.run(pip, check=False).returncode != 0:
            return None
    return program


def by_uvx(program: Path, wheel: Path, folder: Path) -> list[list[str | Path]]:
    tool = [program, "tool", "run", "--offline", "--no-config", "--python", sys.executable]
    return [[*tool, "--from", wheel, "torchport", "check", "."]]


def by_pip(wheel: Path, folder: Path) -> list[list[str | Path]]:
    home = folder / "venv"  # made before the clock starts: venv takes seconds to install pip there
    venv.create(home, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", home]
    return [
        [*pip, "install", "--quiet", "--no-index", "--no-cache-dir", wheel],
        [home / "bin/torchport", "check", "."],
    ]


def seconds(commands_in) -> float:
    with tempfile.TemporaryDirectory() as name:
        project = Path(name, "project")
        project.mkdir()
        (project / "train.py").write_text(TIED)
        environment = os.environ | {
            "UV_CACHE_DIR": f"{name}/uv",
            "UV_TOOL_DIR": f"{name}/tools",
            "TORCHPORT_CACHE_DIR": f"{name}/cache",
        }
        commands = commands_in(Path(name))
        start = time.perf_counter()
        for command in commands:
            done = subprocess.run(
                command, cwd=project, env=environment, capture_output=True, text=True, check=False
            )
        took = time.perf_counter() - start
    if done.returncode != 1 or "train.py:2" not in done.stdout:
        sys.exit(f"install.py: there was no finding: {done.stdout}{done.stderr}")
    return took


def measure(label: str, commands_in) -> None:
    times = [seconds(commands_in) for _ in range(RUNS)]
    middle = statistics.median(times)
    verdict = "reached" if middle <= BOUND else "MISSED"
    spread = f"{min(times):.2f} to {max(times):.2f}"
    print(f"{label}: first finding after {middle:.2f} s ({spread})  <= {BOUND:g} s: {verdict}")


def sizes(wheel: Path) -> None:
    parts: dict[str, int] = defaultdict(int)
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            runtime = re.match(r"torchport/lib/(torch-[^/]+)/", member.filename)
            program = member.filename.endswith("/scripts/torchport")
            part = runtime[1] if runtime else "the program" if program else "everything else"
            parts[part] += member.compress_size
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, of which")
    for part, size in sorted(parts.items()):
        print(f"  {part:<16} {size / 1e6:.2f} MB")


def main() -> int:
    found = [Path(word).resolve() for word in sys.argv[1:]]
    found = found or sorted((ROOT / "dist").glob("torchport-*.whl"))
    if not found:
        sys.exit("install.py: there is no wheel in dist/: make wheel, or name one")
    wheel = found[-1]
    sizes(wheel)
    if program := uv():
        measure("uvx", lambda folder: by_uvx(program, wheel, folder))
    measure("pip", lambda folder: by_pip(wheel, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
