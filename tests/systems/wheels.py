"""The wheels that the systems' tests install, and torch as a folder that roots can share.

pip runs on this machine with its own settings and downloads for the Python of a root; the roots need no
network.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Not in torch's dependencies, because torch also works without it, with a warning.
MORE = ("numpy",)
# The libraries that torch's builds for CUDA link. They are 3 GB, and no test runs code of them.
OF_CUDA = re.compile(r"^(nvidia|cuda)[-_]")
# What torch imports only when a program compiles for a GPU.
UNUSED = re.compile(r"^(triton|torch|torchport)$")


@dataclass(frozen=True)
class Torch:
    """Attributes:
    folder: What the wheel unpacks to: torch, torchgen and others.
    nvidia: The folder with the libraries of CUDA; None for a build for the CPU.
    wheels: A folder with the wheels of the Python packages that it needs.
    """

    folder: Path
    nvidia: Path | None
    wheels: Path

    def mounts(self, site: str) -> tuple[tuple[Path, str], ...]:
        """What makes a root's folder of packages `site` contain it."""
        shown = [(path, f"{site}/{path.name}") for path in sorted(self.folder.iterdir())]
        if self.nvidia is not None:
            shown.append((self.nvidia, f"{site}/nvidia"))
        return tuple(shown)


def own_release() -> str:
    """The release of torch that the checkout's build has libraries for."""
    text = (ROOT / "deps/torch.txt").read_text()
    return re.search(r"(?m)^torch==(\S+)", text)[1]


def pack(build: Path, folder: Path) -> Path:
    """The wheel with what is in the build folder."""
    maker = [sys.executable, ROOT / "deps/make_wheel.py", "--into", folder, build]
    subprocess.run(maker, check=True)
    return next(folder.glob("torchport-*.whl"))


def pip(command: str, python: str, *words: str | Path) -> str:
    """Runs pip for another version of Python; what it prints."""
    general = [sys.executable, "-m", "pip", "--disable-pip-version-check", command, "--quiet"]
    general += ["--python-version", python, "--only-binary", ":all:"]
    done = subprocess.run([*general, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"pip {command} for Python {python} failed:\n{done.stderr[-3000:]}")
    return done.stdout


def closure(wheel: Path, python: str) -> list[tuple[str, str]]:
    """Names and versions of all packages that the wheel needs."""
    words = ["--dry-run", "--ignore-installed", "--report", "-", "--target", "unused"]
    report = json.loads(pip("install", python, *words, wheel, *MORE))
    members = [item["metadata"] for item in report["install"]]
    return [(member["name"].lower(), member["version"]) for member in members]


def find(folder: Path, python: str, name: str) -> Path | None:
    tag = "cp" + python.replace(".", "")
    return next(iter(sorted(folder.glob(f"{name}-*-{tag}-{tag}-*.whl"))), None)


def unpack(wheel: Path, folder: Path, members: str = "") -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(members)]
        archive.extractall(folder, names)


def fetch_nvidia(folder: Path, python: str, packages: list[tuple[str, str]]) -> Path:
    if not (folder / "complete").exists():
        print(f"== fetching the libraries of CUDA into {folder} (3 GB)", file=sys.stderr)
        for name, version in packages:
            if OF_CUDA.match(name):
                words = ["--no-deps", "--dest", folder / "wheels", f"{name}=={version}"]
                pip("download", python, *words)
        for wheel in (folder / "wheels").glob("*.whl"):
            unpack(wheel, folder, "nvidia/")
            wheel.unlink()
        (folder / "complete").touch()
    return folder / "nvidia"


def fetch_torch(
    release: str, python: str, cache: Path, given: list[Path], nvidia: Path | None
) -> Torch:
    """torch for this version of Python, from the given wheels or from pip's index."""
    tag = "cp" + python.replace(".", "")
    wheel = next((path for path in given if f"-{tag}-{tag}-" in path.name), None)
    downloads = cache / f"torch-{release}-{tag}"
    wheel = wheel or find(downloads, python, "torch")
    if wheel is None:
        print(f"== fetching torch {release} for Python {python}", file=sys.stderr)
        pip("download", python, "--no-deps", "--dest", downloads, f"torch=={release}")
        wheel = find(downloads, python, "torch")
        assert wheel is not None, downloads
    folder = cache / "unpacked" / wheel.stem
    if not (cache / "unpacked" / f"{wheel.stem}.complete").exists():
        unpack(wheel, folder)
        (cache / "unpacked" / f"{wheel.stem}.complete").touch()
    packages = closure(wheel, python)
    wheels = cache / f"packages-{tag}"
    for name, version in packages:
        if not OF_CUDA.match(name) and not UNUSED.match(name):
            pip("download", python, "--no-deps", "--dest", wheels, f"{name}=={version}")
    if any(OF_CUDA.match(name) for name, _ in packages):
        nvidia = nvidia or fetch_nvidia(cache / f"nvidia-{release}", python, packages)
        return Torch(folder, nvidia, wheels)
    return Torch(folder, None, wheels)
