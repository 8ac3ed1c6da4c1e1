"""cub and thrust of several releases of CUDA, in the programs of tests/cuda/samples that use them.

`make test-cccl` fetches them from PyPI (deps/cccl.txt) and runs this; a program compiles for half a minute.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_samples import SAMPLES, build, run

ROOT = Path(__file__).resolve().parents[2]
PINS = [
    line
    for line in (ROOT / "deps" / "cccl.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
pytestmark = pytest.mark.skipif(
    "TORCHPORT_CCCL" not in os.environ, reason="fetches packages: make test-cccl"
)


@pytest.fixture(params=PINS, scope="module")
def headers(request: pytest.FixtureRequest) -> Path:
    """The folder with cub/ of a release."""
    folder = ROOT / "build" / "cccl" / request.param.split("==")[1]
    if not folder.exists():
        words = ["-q", "--no-deps", "--target", folder, request.param]
        subprocess.run([sys.executable, "-m", "pip", "install", *words], check=True)
    (found,) = folder.glob("**/cub/cub.cuh")
    return found.parents[1]


@pytest.mark.parametrize("name", ["cub_primitives", "device_scans", "thrust_algorithms"])
def test_programs_run_with_a_release(name: str, headers: Path, tmp_path: Path) -> None:
    compiled = build(SAMPLES / f"{name}.cu", tmp_path, f"-I{headers}")
    assert compiled.returncode == 0, compiled.stderr[-4000:]
    done = run(tmp_path / name, tmp_path / "cache")
    assert (done.returncode, done.stdout) == (0, f"{name}: right\n"), done.stderr
