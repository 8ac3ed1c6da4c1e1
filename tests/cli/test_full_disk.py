"""A full disk: one sentence, no file that is half written, and the findings all the same."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

TIED = "import torch\nx = torch.ones(2).cuda()\n"
MODEL = """
import torch
def make(): return torch.nn.Linear(2, 2)
def inputs(): return torch.ones(1, 2)
"""
SCRIPT = """\
mount -t tmpfs -o size=64k tmpfs "$1"
head -c 100000 /dev/zero > "$1/filler" 2>/dev/null || true
shift
"$@"
status=$?
echo
ls -A "$DISK"
exit $status
"""


def can_mount() -> bool:
    command = ["unshare", "--mount", "true"]
    try:
        return os.geteuid() == 0 and subprocess.run(command, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.fixture
def on_full_disk(torchport, tmp_path: Path):
    """on_full_disk(words...): runs the program where the folder `disk` is full."""
    if not can_mount():
        pytest.skip("only root can mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()

    def run(*words: object, **variables: str) -> tuple[subprocess.CompletedProcess, list[str]]:
        command = ["unshare", "--mount", "sh", "-c", SCRIPT, "sh", disk, torchport.program, *words]
        done = subprocess.run(
            [str(word) for word in command],
            cwd=torchport.folder,
            env=torchport.env | {"DISK": str(disk)} | variables,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        output, _, names = done.stdout.rpartition("\n\n")
        done.stdout = output
        return done, sorted(set(names.split()) - {"filler"})

    run.disk = disk
    return run


def test_check_without_room_for_its_cache(torchport, on_full_disk) -> None:
    for number in range(50):
        torchport.write(f"a{number}.py", TIED)
    cache = {"TORCHPORT_CACHE_DIR": str(on_full_disk.disk / "cache")}
    done, _ = on_full_disk("check", **cache)
    assert (done.returncode, done.stderr) == (1, "")
    assert "Found 50 findings" in done.stdout


@pytest.mark.parametrize("form", ["torchscript", "pt2"])
def test_export_leaves_nothing_behind(torchport, on_full_disk, form: str) -> None:
    torchport.write("net.py", MODEL)
    target = on_full_disk.disk / "net.out"
    words = ["export", "net:make", "--input", "net:inputs", "--to", form, "--output", target, "-q"]
    done, names = on_full_disk(*words)
    assert (done.returncode, done.stdout, names) == (1, "", [])
    assert done.stderr.startswith(f"torchport export: cannot write {target}: ")
    assert done.stderr.count("\n") == 1


def test_a_report_that_cannot_be_written(torchport, on_full_disk) -> None:
    torchport.write("train.py", "import torch\nprint(torch.ones(2).cuda().sum().item())\n")
    target = on_full_disk.disk / "report.json"
    words = ["run", "-q", "--report", "json", "--report-file", target, "train.py"]
    done, names = on_full_disk(*words)
    assert (done.returncode, done.stdout, names) == (0, "2.0", [])
    assert done.stderr == (
        f"torchport: the report cannot be written to {target}: No space left on device\n"
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["check"], 3),
        (["check", "--format", "json"], 3),
        (["rules"], 3),
        (["verify", "net:make", "--input", "net:inputs", "--json"], 2),
    ],
)
def test_output_that_cannot_be_written(torchport, words: list[str], code: int) -> None:
    torchport.write("net.py", MODEL)
    for number in range(50):
        torchport.write(f"a{number}.py", TIED)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [torchport.program, *words],
            cwd=torchport.folder, env=torchport.env, stdout=full, stderr=subprocess.PIPE,
            text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == code
    last = done.stderr.splitlines()[-1]
    assert last.endswith("the output cannot be written: No space left on device")
    assert "Traceback" not in done.stderr
