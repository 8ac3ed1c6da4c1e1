"""Standard streams that are closed or full: what a command does is done all the same."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

TIE = "import torch\nx = torch.zeros(3).cuda()\n"
STREAMS = (
    "<&-",
    ">&-",
    "2>&-",
    ">&- 2>&-",
    "<&- >&- 2>&-",
    ">/dev/full",
    "2>/dev/full",
    ">/dev/full 2>&1",
)


def shell(torchport, command: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["bash", "-c", f"exec {torchport.program} {command}"], cwd=torchport.folder, env=torchport.env,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("streams", STREAMS)
def test_fix_writes_its_files_and_nothing_else(torchport, streams: str) -> None:
    """A closed stream's number is not given to a file, which the next message would be written into."""
    path = torchport.write("a.py", TIE)
    torchport.write("b.py", "def f(:\n")
    run = shell(torchport, f"fix --select TP101 {streams}")
    assert run.returncode in (0, 1, 3), run
    text = path.read_text()
    assert "DEVICE" in text and "Fixed" not in text and "torchport" not in text
    undo = shell(torchport, f"fix --undo {streams}")
    assert undo.returncode in (0, 3), undo
    assert path.read_text() == TIE
    for journal in Path(torchport.env["TORCHPORT_STATE_DIR"]).rglob("*"):
        holds = str(torchport.folder).encode() if journal.name == "tree" else b""
        assert not journal.is_file() or journal.read_bytes() == holds, journal


@pytest.mark.parametrize("streams", STREAMS)
@pytest.mark.parametrize(
    "command",
    [
        "check .",
        "check nothing.py",
        "doctor",
        "inspect a.py",
        "run",
        "fix --undo",
        "no-such-command",
    ],
)
def test_no_command_is_aborted(torchport, streams: str, command: str) -> None:
    torchport.write("a.py", TIE)
    run = shell(torchport, f"{command} {streams}")
    assert run.returncode in (0, 1, 2, 3), run


@pytest.mark.parametrize("streams", STREAMS)
def test_a_program_is_started(torchport, streams: str) -> None:
    torchport.write("p.py", "open('ran', 'w').write('yes')\n")
    shell(torchport, f"run --devices cuda:1 p.py {streams}")
    assert (torchport.folder / "ran").read_text() == "yes"
