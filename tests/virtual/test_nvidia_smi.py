"""nvidia-smi under `torchport run`: what programs and libraries ask it."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# The number of a process is what another one sees.
pytestmark = pytest.mark.own_process

ASKS = """
import subprocess, sys, torch
tensors = [torch.ones(n << 18, device=device) for n, device in ((256, "cuda:0"), (40, "cuda:1"))]
done = subprocess.run(["nvidia-smi", *sys.argv[1:]], capture_output=True, text=True)
print(done.stdout, end="")
sys.exit(done.returncode)
"""
DEVICES = ("--devices", "cuda:2", "--profile", "h100-80g")


@pytest.fixture
def ask(torchport):
    torchport.write("asks.py", ASKS)

    def asked(*words: str) -> str:
        run = torchport("run", "-q", *DEVICES, "asks.py", *words)
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout

    return asked


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text), skipinitialspace=True))


def test_a_query_has_a_line_for_each_device(ask) -> None:
    fields = "index,gpu_name,memory.used,memory.free,memory.total,compute_cap,count"
    header, first, second = rows_of(ask(f"--query-gpu={fields}", "--format=csv"))
    assert header[2] == "memory.used [MiB]"
    assert first == ["0", "NVIDIA H100 80GB HBM3", "256 MiB", "80823 MiB", "81079 MiB", "9.0", "2"]
    assert second[:3] == ["1", "NVIDIA H100 80GB HBM3", "40 MiB"]
    (only,) = rows_of(
        ask("--query-gpu", fields, "--format", "csv,noheader,nounits", "--id=1")
    )  # fmt: skip
    assert only[2:] == ["40", "81039", "81079", "9.0", "2"]


def test_what_a_library_that_looks_for_a_free_device_asks(ask) -> None:
    """The fields of GPUtil, whose numbers are NaN if they are none."""
    fields = (
        "index,uuid,utilization.gpu,memory.total,memory.used,memory.free,driver_version,name,"
        "gpu_serial,display_active,display_mode,temperature.gpu"
    )
    rows = rows_of(ask(f"--query-gpu={fields}", "--format=csv,noheader,nounits"))
    assert [len(row) for row in rows] == [12, 12]
    assert rows[0][2] == rows[0][11] == "[N/A]"
    assert float(rows[0][4]) == 256


def test_processes_on_a_device(ask) -> None:
    fields = "pid,process_name,used_memory,gpu_uuid"
    text = ask(f"--query-compute-apps={fields}", "--format=csv,noheader,nounits")
    (pid, name, used, uuid), other = rows_of(text)
    assert int(pid) > 1 and name == sys.executable and used == "256"
    assert other[:3] == [pid, name, "40"] and other[3] != uuid


def test_the_table_and_the_list(ask, torchport) -> None:
    lines = ask().splitlines()
    assert "Driver Version: 580.65.06" in lines[2]
    framed = [line for line in lines[1:] if line]
    assert {len(line) for line in framed} == {91}
    assert sum("256MiB /  81079MiB" in line for line in lines) == 1
    assert sum(sys.executable[:30] in line for line in lines) == 2
    listed = ask("-L").splitlines()
    assert [line.partition(" (UUID: GPU-")[0] for line in listed] == [
        "GPU 0: NVIDIA H100 80GB HBM3",
        "GPU 1: NVIDIA H100 80GB HBM3",
    ]
    torchport.write(
        "shows.py", "import torch; print(torch.cuda.get_device_properties(1).uuid)"
    )  # fmt: skip
    own = torchport("run", "-q", *DEVICES, "shows.py").stdout.strip()
    assert f"(UUID: GPU-{own})" in listed[1]


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (["--query-gpu=name,heat", "--format=csv"], 'Field "heat" is not a valid field', 2),
        (["--query-gpu=name"], '"--format=" switch is missing', 2),
        (["--query-gpu=name", "--format=xml"], "Invalid combination of input arguments", 2),
        (["-q", "-x"], "`-q` is not there for virtual devices", 2),
        (["-i", "5"], "No devices were found", 2),
        (["-l", "never"], "Invalid combination of input arguments", 2),
        (["--help"], "Usage: nvidia-smi", 0),
    ],
)
def test_wrong_words(torchport, words: list[str], said: str, code: int) -> None:
    done = torchport("run", "-q", *DEVICES, "--", "nvidia-smi", *words)
    assert (said in done.stdout, done.returncode) == (True, code), done.stdout + done.stderr


def test_without_virtual_devices_there_is_no_driver(torchport) -> None:
    done = torchport("nvidia-smi")
    assert done.returncode == 9
    assert "Start it, or the program that starts it, by `torchport run`" in done.stdout


def test_it_looks_again_and_again_into_a_file(torchport, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    words = ["--query-gpu=memory.used", "--format=csv", "-lms", "50", "-f", str(log)]
    process = subprocess.Popen(
        [torchport.program, "run", "-q", *DEVICES, "--", "nvidia-smi", *words], cwd=tmp_path
    )
    for _ in range(200):
        if log.exists() and log.read_text().count("\n") >= 5:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) in (0, 130)
    lines = log.read_text().splitlines()
    assert lines.count("memory.used [MiB]") == 1 and lines.count("0 MiB") >= 4


def test_processes_that_ended_or_were_forked_count_once(torchport) -> None:
    torchport.write(
        "forks.py",
        "import os, subprocess, torch\n"
        "x = torch.ones(64 << 18, device='cuda')\n"
        "reads, writes = os.pipe()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os.read(reads, 1)\n"
        "    os._exit(0)\n"
        "words = ['nvidia-smi', '--query-compute-apps=pid,used_memory', '--format=csv,noheader']\n"
        "print(subprocess.run(words, capture_output=True, text=True).stdout, end='')\n"
        "os.write(writes, b'x')\n"
        "os.waitpid(child, 0)\n"
        "print(os.getpid())\n",
    )
    run = torchport("run", "-q", "forks.py")
    assert run.returncode == 0, run.stderr
    first, own = run.stdout.splitlines()
    assert first == f"{own}, 64 MiB"
    assert not os.path.exists(f"/proc/{own}")
