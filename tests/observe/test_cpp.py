"""The observer in a C++ program that is compiled against the library as a user's would be."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_observing_without_python(tmp_path, torch_folder, runtime_folder) -> None:
    compiler = ["ccache", "c++"] if shutil.which("ccache") else ["c++"]
    command = [*compiler, "-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-c"]
    command += [f"-I{ROOT / 'include'}", f"-isystem{torch_folder / 'include'}"]
    source = Path(__file__).parent / "programs/observing.cpp"
    subprocess.run([*command, source, "-o", tmp_path / "observing.o"], check=True)
    places = [runtime_folder, torch_folder / "lib"]
    subprocess.run(
        ["c++", tmp_path / "observing.o", "-o", tmp_path / "observing"]
        + ["-ltorchport", "-ltorch_cpu", "-lc10", *(f"-L{place}" for place in places)]
        + [f"-Wl,-rpath,{place}" for place in places],
        check=True,
    )
    done = subprocess.run(
        [tmp_path / "observing"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0 and "0 failures" in done.stdout, done.stdout + done.stderr
