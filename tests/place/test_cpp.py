"""The C++ headers, in a program that is compiled against the library as a user's would be."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_kernels_and_module_checks(tmp_path, torch_folder, runtime_folder):
    program = tmp_path / "modules"
    include = torch_folder / "include"
    folders = [ROOT / "include", include, include / "torch/csrc/api/include"]
    compiler = ["ccache", "c++"] if shutil.which("ccache") else ["c++"]
    command = [*compiler, "-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-c"]
    command += [f"-I{folders[0]}", *(f"-isystem{folder}" for folder in folders[1:])]
    source = Path(__file__).parent / "programs" / "modules.cpp"
    subprocess.run([*command, source, "-o", tmp_path / "modules.o"], check=True)
    places = [runtime_folder, torch_folder / "lib"]
    subprocess.run(
        ["c++", tmp_path / "modules.o", "-o", program, "-ltorchport", "-ltorch_cpu", "-lc10"]
        + [f"-L{place}" for place in places]
        + [f"-Wl,-rpath,{place}" for place in places],
        check=True,
    )
    done = subprocess.run([program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "0 failures" in done.stdout, done.stdout + done.stderr
