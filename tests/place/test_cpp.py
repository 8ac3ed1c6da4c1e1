"""The C++ headers, in a program that is compiled against the library as a user's would be."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_kernels_and_module_checks(tmp_path):
    torch = Path(importlib.util.find_spec("torch").origin).parent
    library = Path(os.environ.get("TORCHPORT_LIBRARY") or Path(sys.prefix, "lib", "torchport"))
    program = tmp_path / "modules"
    include = torch / "include"
    folders = [ROOT / "include", include, include / "torch/csrc/api/include"]
    compiler = ["ccache", "c++"] if shutil.which("ccache") else ["c++"]
    command = [*compiler, "-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-c"]
    command += [f"-I{folders[0]}", *(f"-isystem{folder}" for folder in folders[1:])]
    source = Path(__file__).parent / "programs" / "modules.cpp"
    subprocess.run([*command, source, "-o", tmp_path / "modules.o"], check=True)
    places = [library, torch / "lib"]
    subprocess.run(
        ["c++", tmp_path / "modules.o", "-o", program, "-ltorchport", "-ltorch_cpu", "-lc10"]
        + [f"-L{place}" for place in places]
        + [f"-Wl,-rpath,{place}" for place in places],
        check=True,
    )
    done = subprocess.run([program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "0 failures" in done.stdout, done.stdout + done.stderr
