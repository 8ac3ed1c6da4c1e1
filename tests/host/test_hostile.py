"""`torchport doctor` on machines that are broken: each thing gives a clear word, and ends in time."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.alone

# The limit for a program is two seconds; the rest is for machines that are busy.
MOST_SECONDS = 12


def facts_of(torchport, **environment: str) -> dict:
    started = time.monotonic()
    run = torchport("doctor", "--json", env=environment)
    assert time.monotonic() - started < MOST_SECONDS
    assert run.returncode in (0, 1) and run.stderr == "", run.stderr
    return json.loads(run.stdout)["facts"]


def toolkit_with(folder: Path, script: str) -> dict[str, str]:
    nvcc = folder / "cuda" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text(script)
    nvcc.chmod(nvcc.stat().st_mode | stat.S_IXUSR)
    # No other toolkit is asked, so that the time is this one's.
    return {"CUDA_HOME": str(folder / "cuda"), "PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("#!/bin/sh\nsleep 60\n", ""),
        ("#!/bin/sh\ntrap '' TERM INT HUP\nwhile :; do sleep 1; done\n", ""),
        ("#!/bin/sh\nexec >&- 2>&-\nsleep 60\n", ""),  # says nothing more, and goes on
        ("#!/bin/sh\n(sleep 60) &\necho 'release 13.0, V13.0.88'\n", ""),  # leaves one behind
        ("#!/bin/sh\nyes 'release 13.0, V13.0.88'\n", ""),  # without an end
        ("#!/bin/sh\nhead -c 200000 /dev/urandom\n", ""),
        ("#!/bin/sh\nprintf 'release \\000\\377\\033[31m, V1'\n", ""),
        ("#!/bin/sh\necho 'release '\n", ""),
        ("#!/bin/sh\necho 'release 13'\n", ""),
        ("#!/bin/sh\nprintf 'release %05000d.1' 7\n", ""),
        ("#!/bin/sh\necho 'release 13.0, V13.0.88'; exit 1\n", ""),
        ("#!/bin/sh\necho 'release 13.0, V13.0.88'; kill -SEGV $$\n", ""),
        ("#!/no/such/interpreter\n", ""),
        ("", ""),  # an empty file
        ("\x7fELF broken", ""),
        ("#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n", "13.0"),
    ],
)
def test_an_nvcc_that_is_none(torchport, tmp_path: Path, script: str, version: str) -> None:
    facts = facts_of(torchport, **toolkit_with(tmp_path, script))
    assert facts["toolkits"][0]["from"] == "CUDA_HOME"
    assert facts["toolkits"][0]["nvcc"] == version


def test_an_nvcc_that_does_not_run_is_told(torchport, tmp_path: Path) -> None:
    text = torchport("doctor", env=toolkit_with(tmp_path, "")).stdout
    assert f"{tmp_path}/cuda (CUDA_HOME), nvcc does not run\n" in text


def test_what_a_program_started_ends_with_it(torchport, tmp_path: Path) -> None:
    mark = tmp_path / "still"
    script = f"#!/bin/sh\n(while :; do date >>{mark}; sleep 0.2; done) &\nsleep 60\n"
    facts_of(torchport, **toolkit_with(tmp_path, script))
    written = mark.stat().st_size
    time.sleep(1)
    assert mark.stat().st_size == written


def torch_in(folder: Path) -> Path:
    torch = folder / "lib" / "python3.11" / "site-packages" / "torch"
    (torch / "lib").mkdir(parents=True)
    return torch


def write_sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def torch_of(torchport, folder: Path) -> dict:
    return facts_of(torchport, VIRTUAL_ENV=str(folder))["torches"][0]


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda path: os.mkfifo(path), "version.py is not a file"),
        (lambda path: path.mkdir(), "version.py is not a file"),
        (lambda path: path.symlink_to("/dev/zero"), "version.py is not a file"),
        (lambda path: write_sparse(path, 1 << 30), "version.py has 1073741824 bytes"),
        (lambda path: path.write_bytes(os.urandom(4096)), "version.py does not contain a version"),
        (lambda path: path.write_bytes(b"\0" * 100_000), "version.py does not contain a version"),
        (
            lambda path: path.write_text("__version__ = 'abc'\n"),
            "version.py does not contain a version",
        ),
        (
            lambda path: path.write_text("__version__ = '2.13\n"),
            "version.py does not contain a version",
        ),
        (
            lambda path: path.write_text("__version__ = 2.13\n"),
            "version.py does not contain a version",
        ),
        (
            lambda path: path.write_text(f"__version__ = '2.{'9' * 5000}'\n"),
            "version.py does not contain a version",
        ),
        (
            lambda path: path.write_text("__version__ = '2.13.0'\n"),
            "lib/libtorch_python.so is missing",
        ),
    ],
    ids=range(11),
)
def test_metadata_that_is_broken(torchport, tmp_path: Path, make, fault: str) -> None:
    make(torch_in(tmp_path) / "version.py")
    torch = torch_of(torchport, tmp_path)
    assert torch["fault"] == fault
    # A health check sees a torch that is broken, whatever GPU there is.
    require = torchport("doctor", "--require", "cpu", env={"VIRTUAL_ENV": str(tmp_path)})
    assert require.returncode == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cuda = 12\nhip = None\n", ("", "")),
        ("cuda: Optional[str] = '13.0'\nhip = ['6.0']\n", ("13.0", "6.0")),
        ("cuda = ''\nhip: Optional[str] = \"7.2\"\n", ("", "7.2")),
        ("cuda = '13.\n", ("", "")),
    ],
)
def test_metadata_of_other_types(torchport, tmp_path: Path, text: str, expected) -> None:
    root = torch_in(tmp_path)
    (root / "version.py").write_text(f"__version__ = '2.13.0'\n{text}")
    (root / "lib" / "libtorch_python.so").write_bytes(b"")
    torch = torch_of(torchport, tmp_path)
    assert (torch["cuda"], torch["hip"]) == expected and torch["archs"] == []


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda path: write_sparse(path, 1 << 42), f"lib/libtorch_python.so has {1 << 42} bytes"),
        (lambda path: os.mkfifo(path), "lib/libtorch_python.so is missing"),
        (lambda path: path.write_bytes(b"sm_" * 1_000_000), ""),
        (lambda path: path.write_bytes(b"sm_80 " * 1_000_000), ""),
    ],
    ids=range(4),
)
def test_a_library_that_is_broken(torchport, tmp_path: Path, make, fault: str) -> None:
    root = torch_in(tmp_path)
    (root / "version.py").write_text("__version__ = '2.13.0+cu130'\ncuda = '13.0'\n")
    make(root / "lib" / "libtorch_python.so")
    torch = torch_of(torchport, tmp_path)
    assert torch["fault"] == fault
    assert all(len(arch) <= 16 for arch in torch["archs"])


def test_an_environment_of_links_in_circles(torchport, tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.11"
    site.mkdir(parents=True)
    (site / "site-packages").symlink_to(site / "site-packages")
    (tmp_path / "lib" / "python3.12").symlink_to(tmp_path)
    facts_of(torchport, VIRTUAL_ENV=str(tmp_path), PYTHONPATH=f"{tmp_path}:::{'x' * 5000}")


def test_variables_that_draw_on_terminals(torchport) -> None:
    run = torchport("doctor", env={"CUDA_VISIBLE_DEVICES": "\x1b[31m0\x07"})
    assert "\x1b" not in run.stdout and "\x07" not in run.stdout
