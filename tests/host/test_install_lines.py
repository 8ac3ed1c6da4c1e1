"""Each install line that doctor prints for a recorded machine is run: by a real pip and a real uv, in an
environment with the torch of the record, against an index that has what pytorch.org and PyPI publish."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from recorded_hosts import hosts

SNAPSHOTS = sorted((Path(__file__).parent / "snapshots").glob("*.json"))
UV = Path(__file__).parents[2] / "build/linters/bin/uv"
PYTORCH = "https://download.pytorch.org/whl/"


@dataclass(frozen=True)
class Case:
    name: str
    facts: str  # the record, as JSON


def records() -> list[Case]:
    made = [Case(path.stem, path.read_text()) for path in SNAPSHOTS]
    return made + [Case(host.name, json.dumps({"facts": host.facts})) for host in hosts()]


def write_wheel(folder: Path, version: str, content: str) -> None:
    """A package `torch` of this version, whose only module has this content."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"torch-{version}.dist-info"
    files = {
        "torch/__init__.py": content,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    for name, text in files.items():
        digest = (
            base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        )
        rows.append(f"{name},sha256={digest},{len(text)}\n")
    rows.append(f"{info}/RECORD,,\n")
    with zipfile.ZipFile(folder / f"torch-{version}-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr(f"{info}/RECORD", "".join(rows))


def write_index(folder: Path, versions: list[str]) -> str:
    """A simple index with these builds of torch; its address."""
    for version in versions:
        write_wheel(folder / "torch", version, f"VERSION = {version!r}\n")
    links = "".join(
        f'<a href="{path.name.replace("+", "%2B")}">{path.name}</a>\n'
        for path in (folder / "torch").iterdir()
    )
    (folder / "torch/index.html").write_text(links)
    (folder / "index.html").write_text('<a href="torch/">torch</a>\n')
    return folder.as_uri()


def printed(torchport, case: Case) -> list[str]:
    torchport.write("record.json", case.facts)
    return json.loads(torchport("doctor", "--json", "--from", "record.json").stdout)["install"]


@pytest.mark.parametrize("case", records(), ids=lambda case: case.name)
def test_a_printed_line_installs_the_build_that_it_names(torchport, tmp_path, case) -> None:
    lines = printed(torchport, case)
    torches = json.loads(case.facts)["facts"].get("torches", [])
    for number, line in enumerate(lines):
        words = shlex.split(line)
        tool = "uv" if words[0] == "uv" else "pip"
        if tool == "uv" and not UV.exists():
            continue
        # A line without a version takes the newest one, whatever that is.
        requirement = next((word for word in words if word.startswith("torch==")), "torch==99.0")
        version, _, local = requirement.removeprefix("torch==").partition("+")
        backend = re.search(r"--torch-backend=(\S+)", line)
        index = re.search(rf"{PYTORCH}(\S+)", line)
        variant = backend[1] if backend else index[1] if index else ""
        folder = tmp_path / f"index{number}"
        address = write_index(folder, [f"{version}+{variant}"] if variant else [version])
        environment = tmp_path / f"environment{number}"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        python = environment / "bin/python"
        pip = [sys.executable, "-m", "pip", "--python", str(python)]
        quiet = {"env": os.environ | {"PIP_CONSTRAINT": "/dev/null", "PIP_CONFIG_FILE": "/dev/null", "UV_NO_CONFIG": "1", "PIP_INDEX_URL": address, "UV_INDEX_URL": address,
                                      "PIP_NO_CACHE_DIR": "1", "UV_NO_CACHE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                                      "VIRTUAL_ENV": str(environment)}}  # fmt: skip
        if torches:
            write_wheel(tmp_path / "old", torches[0]["version"], "VERSION = 'before'\n")
            (wheel,) = (tmp_path / "old").glob(f"torch-{torches[0]['version']}-*")
            subprocess.run([*pip, "install", "-q", wheel], check=True, **quiet)
        words = [
            word.replace(f"{PYTORCH}{variant}", address)
            for word in words
            if not word.startswith("--torch-backend")
        ]
        command = [*pip, *words[1:]] if tool == "pip" else [str(UV), *words[1:]]
        if tool == "uv" and backend:
            command += ["--index-url", address]
        run = subprocess.run(command, capture_output=True, text=True, check=False, **quiet)
        assert run.returncode == 0, (line, run.stderr)
        after = subprocess.run(
            [python, "-c", "import torch; print(torch.VERSION)"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert after.stdout.strip() == (f"{version}+{variant}" if variant else version), (
            line,
            run.stdout,
        )
        assert not local or local == variant


def test_lines_are_printed_at_all(torchport) -> None:
    assert sum(bool(printed(torchport, case)) for case in records()) > 12
