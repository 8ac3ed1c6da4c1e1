"""Fetches what is needed to compile against a release of torch, and keeps it.

    fetch_torch.py VERSION FOLDER
    fetch_torch.py --list            the versions that torchport's libraries are built for

A wheel of torch is half a gigabyte to one, most of it kernels for GPUs. FOLDER gets torch/ and torchgen/
with the headers, the description of the operators, and what a linker reads of the libraries
(stub_library.py), but nothing that could be imported. The git_version of the result must be the one in
python/torchport/torch_releases.json, because the table promises that the libraries fit that revision.

All of that is kept, 11 MB in two files for each version and revision, in $TORCHPORT_TORCH_CACHE, else
$XDG_CACHE_HOME/torchport/torch, else ~/.cache/torchport/torch. No file of it is ever changed, so a machine
may keep the folder between runs and share it between checkouts. The headers are a file of their own,
because deps/check_releases.py needs no more.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import stub_library
import torch_wheel
from torch_wheel import FetchError

ROOT = Path(__file__).resolve().parents[1]
ABOUT = "torch/version.py"
# What a wheel has, by the file in which it is kept.
PARTS = {
    "headers": re.compile(
        rf"torch/include/|{re.escape(ABOUT)}$|torchgen/packaged/ATen/native/native_functions\.yaml$"
    ),
    "libraries": re.compile(r"torch/lib/lib(c10|torch|torch_cpu|torch_global_deps)\.so$"),
}


def runtimes() -> list[dict[str, Any]]:
    """The rows of the table about torchport's libraries, the oldest release first."""
    table = json.loads((ROOT / "python/torchport/torch_releases.json").read_text())
    return [row["runtime"] for row in reversed(table["releases"]) if row["runtime"]]


def releases() -> list[str]:
    """The versions that torchport's libraries are built for, the oldest first."""
    return [row["built_for"] for row in runtimes()]


def git_version_of(version: str) -> str | None:
    """What the table says about this version; None if it does not have it."""
    return next((row["serves"][version] for row in runtimes() if version in row["serves"]), None)


def cache() -> Path:
    """Where packs are kept."""
    if folder := os.environ.get("TORCHPORT_TORCH_CACHE"):
        return Path(folder)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "torchport/torch"


def pack_of(version: str, part: str) -> Path:
    """The file that has a part of this version, whether it is there or not."""
    revision = git_version_of(version)
    return cache() / f"torch-{version}-{(revision or 'any')[:12]}-{part}.zip"


def write_pack(wheel: zipfile.ZipFile, part: str, target: Path) -> None:
    """Packs what is needed of a wheel into `target`."""
    members = [member for member in wheel.infolist() if PARTS[part].match(member.filename)]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as pack:
        for member in sorted(members, key=lambda member: member.header_offset):
            if member.is_dir():
                continue
            data = wheel.read(member)
            if part == "libraries":
                data = stub_library.stub_of(data)
            pack.writestr(zipfile.ZipInfo(member.filename), data, zipfile.ZIP_DEFLATED)


def fetched(version: str, *parts: str) -> list[Path]:
    """The packs of a version, fetched unless they are kept. FetchError says why one cannot be had."""
    packs = {part: pack_of(version, part) for part in parts}
    missing = {part: pack for part, pack in packs.items() if not pack.is_file()}
    if not missing:
        return list(packs.values())
    wanted = git_version_of(version)
    folder = cache()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Beside the packs, so that one appears as a whole.
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            print(f"== fetching the {' and '.join(missing)} of torch {version}", file=sys.stderr)
            with torch_wheel.wheel_of(version, Path(scratch)) as wheel:
                about = wheel.read(ABOUT).decode()
                if wanted is not None and f"git_version = '{wanted}'" not in about:
                    raise FetchError(f"it is not the revision {wanted} of torch_releases.json")
                for part, pack in missing.items():
                    write_pack(wheel, part, Path(scratch, part))
                    Path(scratch, part).replace(pack)
    except (OSError, zipfile.BadZipFile) as error:
        raise FetchError(torch_wheel.in_a_line(error, folder)) from error
    return list(packs.values())


def unpack(packs: list[Path], folder: Path) -> None:
    """Makes FOLDER of packs."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        for pack in packs:
            with zipfile.ZipFile(pack) as archive:
                archive.extractall(Path(scratch, "unpacked"))
        shutil.rmtree(folder, ignore_errors=True)
        Path(scratch, "unpacked").rename(folder)


def main() -> int:
    words = sys.argv[1:]
    if words == ["--list"]:
        print(*releases())
        return 0
    if len(words) != 2 or words[0].startswith("-"):
        print((__doc__ or "").split("\n\n")[1], file=sys.stderr)
        return 2
    version, folder = words[0], Path(words[1])
    if (folder / ABOUT).is_file():
        return 0
    try:
        packs = fetched(version, *PARTS)
    except FetchError as error:
        print(f"fetch_torch.py: torch {version} cannot be fetched: {error}", file=sys.stderr)
        return 1
    try:
        unpack(packs, folder)
    except (OSError, zipfile.BadZipFile) as error:
        reason = torch_wheel.in_a_line(error, folder)
        print(f"fetch_torch.py: torch {version} cannot be unpacked: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
