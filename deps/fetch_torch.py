"""Fetches what is needed to compile against a release of torch.

    fetch_torch.py VERSION FOLDER
    fetch_torch.py --list            the versions that torchport's libraries are built for

A wheel of torch is half a gigabyte, most of it kernels for GPUs. FOLDER gets torch/ and torchgen/ with
the headers, the description of the operators, and the libraries to link, but nothing that could be
imported. The wheel itself is deleted. The git_version of the result must be the one in
python/torchport/torch_releases.json, because the table promises that the libraries fit that revision.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KEPT = re.compile(
    r"torch/(include/.*|version\.py|lib/lib(c10|torch|torch_cpu|torch_global_deps)\.so)$"
    r"|torchgen/packaged/ATen/native/native_functions\.yaml$"
)


def runtimes() -> list[dict[str, Any]]:
    """The rows of the table about torchport's libraries, the oldest release first."""
    table = json.loads((ROOT / "python/torchport/torch_releases.json").read_text())
    return [row["runtime"] for row in reversed(table["releases"]) if row["runtime"]]


def git_version_of(version: str) -> str | None:
    """What the table says about this version; None if it does not have it."""
    return next((row["serves"][version] for row in runtimes() if version in row["serves"]), None)


def download(version: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    command += ["--no-deps", "--no-cache-dir", "--only-binary", ":all:", "--dest", str(folder)]
    subprocess.run([*command, f"torch=={version}"], check=True)
    return next(folder.glob("torch-*.whl"))


def unpack(wheel: Path, target: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in filter(KEPT.match, archive.namelist()):
            archive.extract(name, target)


def main() -> int:
    if sys.argv[1:] == ["--list"]:
        print(*(row["built_for"] for row in runtimes()))
        return 0
    version, folder = sys.argv[1], Path(sys.argv[2])
    if (folder / "torch/version.py").is_file():
        return 0
    wanted = git_version_of(version)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        print(f"== fetching torch {version} (0.5 to 1 GB)", file=sys.stderr)
        wheel = download(version, Path(scratch))
        unpack(wheel, Path(scratch, "unpacked"))
        about = Path(scratch, "unpacked/torch/version.py").read_text()
        if wanted is not None and f"git_version = '{wanted}'" not in about:
            print(
                f"fetch_torch.py: torch {version} is not the revision {wanted} that "
                "torch_releases.json names",
                file=sys.stderr,
            )
            return 1
        shutil.move(Path(scratch, "unpacked"), folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
