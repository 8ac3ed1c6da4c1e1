"""libtorchport.so, used by a C++ program that finds it by find_package(torchport)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent / "package"


@pytest.mark.long
def test_a_program_finds_and_uses_the_library(tmp_path):
    def run(*command: object) -> str:
        done = subprocess.run(
            [*map(str, command)], capture_output=True, text=True, timeout=500, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    build = tmp_path / "build"
    prefix = run(Path(sys.executable).with_name("torchport"), "--cmake-prefix").strip()
    words = [f"-DCMAKE_PREFIX_PATH={prefix}", f"-DPython3_EXECUTABLE={sys.executable}"]
    run("cmake", "-S", PACKAGE, "-B", build, "-G", "Ninja", *words)
    run("cmake", "--build", build)
    output = run(build / "uses_torchport", tmp_path / "weights.safetensors")
    checks = re.findall(r'"([^"]+)"\);', (PACKAGE / "main.cpp").read_text())
    assert re.findall(r"^passed: (.*)$", output, re.MULTILINE) == checks


def test_nothing_but_the_public_interface_is_seen_from_outside(runtime_folder):
    names = subprocess.run(
        ["nm", "-DC", "--defined-only", runtime_folder / "libtorchport.so"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    functions = re.findall(r"^\S+ T (.*)$", names, re.MULTILINE)
    assert any(name.startswith("torchport::load_tensors(") for name in functions), functions
    inner = (
        "torchport::base::",
        "torchport::checkpoint::",
        "torchport::device::",
        "torchport::host::",
    )
    assert not [n for n in functions if not n.startswith("torchport::") or n.startswith(inner)]
