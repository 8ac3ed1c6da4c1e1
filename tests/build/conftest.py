"""Projects with an extension, built as their users build them. The runner never imports torch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent / "project"
# Settings of builds that this machine may have for others.
SETTINGS = (
    "CC",
    "CUDAHOSTCXX",
    "CUDA_HOME",
    "CUDA_PATH",
    "CXX",
    "FORCE_CUDA",
    "NVCC_CCBIN",
    "TORCHPORT_BUILD",
    "TORCHPORT_TARGET_TORCH",
    "TORCHPORT_VIRTUAL",
    "TORCH_CUDA_ARCH_LIST",
)
CPU = {"scale": [2.0, 4.0], "triple": [3.0, 6.0], "shift": [2.0, 3.0], "negate": [-1.0, -2.0]}


class Builds:
    """A copy of the project, and what is done with it."""

    def __init__(self, folder: Path):
        self.folder = folder
        shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns("__pycache__"))
        self.torchport = Path(sys.executable).parent / "torchport"
        env = {k: v for k, v in os.environ.items() if k not in SETTINGS}
        # The program is found beside the interpreter, or in the PATH.
        path = os.pathsep.join([str(self.torchport.parent), env.get("PATH", "")])
        self.env = env | {"PATH": path, "OMP_NUM_THREADS": "1", "MAX_JOBS": "2"}
        if shutil.which("ccache"):  # the same source in another folder is the same source
            self.env |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache"}  # torch does so itself
            self.env |= {"CCACHE_BASEDIR": str(folder), "CCACHE_NOHASHDIR": "1"}

    def run(self, *words: object, check: bool = True, **env: str) -> subprocess.CompletedProcess:
        done = subprocess.run(
            [str(word) for word in words],
            cwd=self.folder,
            env=self.env | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def python(self, *words: object, **options) -> subprocess.CompletedProcess:
        return self.run(sys.executable, "-W", "ignore", *words, **options)

    def wheel(self, **env: str) -> Path:
        """Builds and unpacks the wheel; the folder to import it from."""
        self.python(
            *("-m", "pip", "--disable-pip-version-check", "wheel", "-v", "--no-deps"),
            *("--no-build-isolation", "--no-index", "-w", "dist", "."),
            **env,
        )
        site = self.folder / "site"
        shutil.unpack_archive(next(self.folder.glob("dist/*.whl")), site, "zip")
        return site

    def use(self, site: Path, **env: str) -> dict:
        shutil.copy(PROJECT / "use.py", site)  # not beside the sources: they hide the package
        done = self.python(site / "use.py", PYTHONPATH=str(site), **env)
        return json.loads(done.stdout.splitlines()[-1])

    def provenance(self, file: str | Path) -> dict:
        done = self.run(self.torchport, "build-plan", "--json", "--of", file)
        return json.loads(done.stdout)


@pytest.fixture
def builds(tmp_path: Path) -> Builds:
    return Builds(tmp_path / "project")


def assert_stands_in(answers: dict, code: str) -> None:
    """What was built for the CPU alone computes there, and says why it does not elsewhere."""
    assert answers["cpu"] == CPU and not answers["with_cuda"]
    on_cuda = answers["cuda"]
    assert on_cuda["negate"] == CPU["negate"]  # made of others: it needs no kernel
    for name, kind, words in (
        ("scale", "NotImplementedError", "gate_demo::scale has no CUDA kernel"),
        ("triple", "RuntimeError", "gate_demo::triple_cuda(at::Tensor const&)"),
        ("shift", "RuntimeError", "gate_demo::shift_cuda<float>"),
    ):
        assert on_cuda[name].startswith(f"{kind}: "), on_cuda
        assert words in on_cuda[name] and code in on_cuda[name]
        assert "gate_demo._C was built without its CUDA part" in on_cuda[name]
        assert "What to do: " in on_cuda[name]


@pytest.fixture
def stands_in():
    return assert_stands_in
