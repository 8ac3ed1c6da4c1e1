"""cuRAND's functions of the host: what an H100 answered, streams, graphs, refusals.

Bits, uniform and Poisson numbers have to be the same. So have normal numbers of generators on the host,
but for doubles that are the inverse of the distribution; other normal numbers take functions whose last
bits are a GPU's.
"""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import pytest
from recorded import TORCHPORT

FOLDER = Path(__file__).parent / "random"
TYPES = {
    101: "xorwow",
    121: "mrg32k3a",
    142: "mt19937",
    161: "philox",
    201: "sobol32",
    203: "sobol64",
}
# From the answer, for numbers of size 1, of those that may differ.
CLOSE = {"f": 1e-5, "d": 1e-13}
INVERTED = (142, 201, 203)


def recorded_lines(kind: int) -> list[str]:
    text = (FOLDER / "nvidia-h100-80gb-hbm3.txt").read_text()
    return text.split(f"\n# {kind}\n")[1].split("\n# ")[0].splitlines()


def build(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.exists():
        command = [
            TORCHPORT,
            "nvcc",
            "-std=c++17",
            "-arch=sm_90",
            "-lcurand",
            FOLDER / f"{name}.cu",
        ]
        subprocess.run([*command, "-o", path], check=True, timeout=100)
    return path


def run(path: Path, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"TORCHPORT_VIRTUAL": "cuda:1,profile=h100-80g"} | variables
    command = [str(word) for word in (path, *words)]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=200, check=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("random")


def is_close(name: str, kind: int, on_host: bool) -> str:
    """The type of the numbers of a call that may differ in their last bits; nothing if they may not."""
    if "normal" not in name or (on_host and not (kind in INVERTED and "double" in name)):
        return ""
    return "d" if "double" in name else "f"


@pytest.mark.parametrize("kind", TYPES, ids=TYPES.values())
def test_numbers_are_those_of_a_gpu(kind: int, folder: Path) -> None:
    done = run(build(folder, "generators"), kind)
    assert done.returncode == 0, done.stderr
    expected, found = recorded_lines(kind), done.stdout.splitlines()
    assert len(found) == len(expected)
    on_host = False
    for want, got in zip(expected, found, strict=True):
        if want.startswith("== "):
            on_host = " where 1 " in want
        code = is_close(want.split(" n ")[0], kind, on_host)
        if not code or got == want:
            assert got == want
            continue
        name, *words = want.split()
        other = got.split()[1:]
        assert words[:3] == other[:3]  # all but the hash
        for one, two in zip(words[4:], other[4:], strict=True):
            real, ours = (struct.unpack(f">{code}", bytes.fromhex(x))[0] for x in (one, two))
            assert abs(real - ours) <= CLOSE[code] * max(1, abs(real)), (name, real, ours)


def test_numbers_do_not_depend_on_threads(folder: Path) -> None:
    path = build(folder, "generators")
    for kind in (121, 161):
        one, eight = (run(path, kind, OMP_NUM_THREADS=n).stdout for n in ("1", "8"))
        assert one == eight


def test_streams_graphs_and_refusals(folder: Path) -> None:
    done = run(build(folder, "statuses"))
    assert done.stdout.splitlines() == ["right"], done.stdout + done.stderr
    assert [line for line in done.stderr.splitlines() if "0x" not in line] == [
        "torchport: curandCreateGenerator: no MTGP32: its tables of parameters are NVIDIA's, "
        "and torchport has none",
        "torchport: curandCreateGenerator: no scrambled Sobol sequences: their tables are NVIDIA's, "
        "and torchport has none",
        "torchport: curandSetQuasiRandomGeneratorDimensions: 51: torchport has the directions of "
        "50 dimensions",
        "torchport: curandGetDirectionVectors32: the tables of scrambled Sobol sequences are NVIDIA's, "
        "and torchport has none",
    ]
