"""Environments with a release of torch, for tests/releases/run.py.

One environment has torch as PyPI has it, without its dependencies: for Linux a build for CUDA. NVIDIA's
libraries, without which such a build cannot be imported, are 3 GB; all releases of one version of CUDA
share one folder of them. (Those of another minor version can be imported, too, but CUPTI 13.2 ends a
program that profiles with torch 2.12 for CUDA 13.0.) The other packages are the checkout's own, or for
another Python the same ones installed for it. torchport itself is installed from the wheel, as users have it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NVIDIA = re.compile(r"(nvidia-|cuda-toolkit\b)")
NOT_LENT = re.compile(r"torch(port|gen)?(-.*)?$|_editable|__pycache__|.*\.pth$")


@dataclass(frozen=True)
class Environment:
    """A virtual environment with torch and torchport."""

    folder: Path
    release: str

    @property
    def name(self) -> str:
        """What results are kept under: "2.13.0", or "2.13.0-python-3.12"."""
        return self.folder.parent.name.removeprefix("torch-")

    @property
    def python(self) -> Path:
        return self.folder / "bin/python"

    @property
    def packages(self) -> Path:
        return next(self.folder.glob("lib/python*/site-packages"))

    def ask(self, code: str) -> str:
        """What a line of Python prints there."""
        command = [self.python, "-W", "ignore", "-c", code]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    @property
    def build(self) -> str:
        return self.ask("import torch; print(torch.__version__)")

    @property
    def python_version(self) -> str:
        return self.ask("import platform; print(platform.python_version())")


def pip(*words: object) -> None:
    """Runs pip without the machine's constraints: each test names the release that it is about."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *words]
    settings = os.environ | {"PIP_CONSTRAINT": os.devnull}
    subprocess.run([str(word) for word in command], env=settings, check=True)


def needs_of(environment: Environment) -> list[str]:
    """What torch needs of NVIDIA's packages, as pip takes it."""
    about = next(environment.packages.glob("torch-*.dist-info")) / "METADATA"
    needs = Parser().parsestr(about.read_text(encoding="utf-8")).get_all("Requires-Dist") or []
    return sorted(need.partition(";")[0].strip() for need in needs if NVIDIA.match(need))


def cuda_of(environment: Environment) -> tuple[int, int] | None:
    """The CUDA that torch is built for; None for a build for the CPU."""
    text = (environment.packages / "torch/version.py").read_text()
    found = re.search(r"^cuda\b[^=]*= '(\d+)\.(\d+)'", text, re.MULTILINE)
    return (int(found[1]), int(found[2])) if found else None


def nvidia_libraries(environment: Environment, cache: Path) -> Path | None:
    """The folder of NVIDIA's packages for this torch; None for a build for the CPU."""
    cuda = cuda_of(environment)
    if cuda is None:
        return None
    folder = cache / f"nvidia-{cuda[0]}.{cuda[1]}"
    if folder.exists():
        return folder / "nvidia"
    print(f"== fetching NVIDIA's libraries for CUDA {cuda[0]}.{cuda[1]} (3 GB)", flush=True)
    scratch = cache / "nvidia-scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    pip("install", "--no-cache-dir", "--target", scratch, *needs_of(environment))
    scratch.rename(folder)
    return folder / "nvidia"


def minor_of(python: Path) -> str:
    """The version of a Python, "3.12"."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def bring_other_packages(environment: Environment, minor: str) -> None:
    """Gives an environment the packages that tests need beside torch."""
    own = next((ROOT / ".venv").glob("lib/python*/site-packages"))
    if own.parent.name == f"python{minor}":
        for package in own.iterdir():  # programs in C++ look for ONNX Runtime beside torch
            there = environment.packages / package.name
            if not NOT_LENT.match(package.name) and not there.exists():
                there.symlink_to(package)
        return
    lock = ROOT / "deps/requirements.lock"
    pip(f"--python={environment.python}", "install", "--no-cache-dir", "--no-deps", "-r", lock)


def make(release: str, cache: Path, python: Path) -> Environment:
    """The environment of a release for a Python, made once; without torchport."""
    minor = minor_of(python)
    own = minor == minor_of(Path(sys.executable))
    name = f"torch-{release}" if own else f"torch-{release}-python-{minor}"
    environment = Environment(cache / name / "venv", release)
    stamp = environment.folder / ".made"
    if stamp.exists():
        return environment
    shutil.rmtree(environment.folder, ignore_errors=True)
    print(f"== fetching torch {release} (0.5 to 1 GB)", flush=True)
    subprocess.run([python, "-m", "venv", "--without-pip", environment.folder], check=True)
    pip(
        f"--python={environment.python}",
        "install",
        "--no-cache-dir",
        "--no-deps",
        f"torch=={release}",
    )
    libraries = nvidia_libraries(environment, cache)
    if libraries is not None:
        (environment.packages / "nvidia").symlink_to(libraries)
    bring_other_packages(environment, minor)
    stamp.touch()
    return environment


def install(environment: Environment, wheel: Path) -> None:
    """Puts the wheel into an environment."""
    words = ["install", "--no-deps", "--no-index", "--force-reinstall", wheel]
    pip(f"--python={environment.python}", *words)
