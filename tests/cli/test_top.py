"""`torchport top`: devices, processes and commands."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest


def test_one_look_shows_the_cpu(torchport):
    done = torchport("top", "--once")
    assert done.returncode == 0
    assert re.search(
        r"^cpu +busy +\d+ % \[.*\]  memory [\d.]+ \wiB of [\d.]+ \wiB", done.stdout, re.M
    )
    (line,) = torchport("top", "--once", "--json").stdout.splitlines()
    look = json.loads(line)
    cpu = look["devices"][-1]
    assert cpu["name"] == "cpu" and 0 <= cpu["busy"] <= 1
    assert 0 < cpu["used_bytes"] < cpu["total_bytes"] and re.fullmatch(
        r"[\d-]+T[\d:]+Z", look["time"]
    )


def test_a_command_keeps_its_output_and_its_exit_code(torchport):
    done = torchport("top", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert done.returncode == 7 and done.stdout == "out\n"
    assert done.stderr.startswith("err\n")
    assert re.search(r"torchport top: sh -c .*: 0\.\d s, exit 7\n", done.stderr)
    done = torchport("top", "--", "sh", "-c", "kill -KILL $$")
    assert done.returncode == 137 and "ended by signal 9" in done.stderr


def test_the_children_of_a_command_count(torchport):
    program = "import subprocess as s; s.run(['sh', '-c', 'sleep 0.7; true']); x = bytes(50 << 20)"
    done = torchport("top", "--json", "--interval", 0.1, "--", sys.executable, "-c", program)
    looks = [json.loads(line)["process"] for line in done.stderr.splitlines()]
    assert max(len(look["pids"]) for look in looks) >= 2
    assert max(look["resident_bytes"] for look in looks) > 5 << 20


def test_a_request_to_terminate_reaches_the_command(torchport):
    words = [
        torchport.program,
        "top",
        "--",
        "sh",
        "-c",
        "trap 'exit 5' TERM; echo up; sleep 20 & wait",
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as top:
        assert top.stdout.readline() == "up\n"
        top.send_signal(
            signal.SIGINT
        )  # the terminal sends it to the command, too; here it does not
        top.send_signal(signal.SIGTERM)
        assert top.wait(10) == 5
        top.stdout.close()


def test_a_process_is_watched_until_it_ends(torchport):
    with subprocess.Popen(["sleep", "0.8"]) as process:
        done = torchport("top", "--pid", process.pid, "--interval", 0.2)
        assert done.returncode == 0
        assert f"sleep ({process.pid})" in done.stdout and "1 process" in done.stdout
        assert "ended" in done.stdout.splitlines()[-4:][0] or "ended" in done.stdout
    assert torchport("top", "--pid", os.getpid(), "--once").returncode == 0


@pytest.mark.parametrize(
    "words, said",
    [
        (["train.py"], "a command comes after `--`, as in `torchport top -- train.py`"),
        (["--"], "there is no command after `--`"),
        (["--", "no-such-program"], "cannot start no-such-program: No such file or directory"),
        (["--pid", "999999999"], "there is no process 999999999"),
        (["--pid", "0"], "--pid"),
        (["--pid", "1", "--", "true"], "--pid and a command exclude each other"),
        (["--once", "--", "true"], "--once does not apply to a command"),
        (["--interval", "0"], "--interval"),
    ],
)
def test_wrong_use_is_told(torchport, words, said):
    done = torchport("top", *words)
    assert done.returncode == 2 and said in done.stderr


def test_ctrl_c_ends_it(torchport):
    words = [torchport.program, "top", "--interval", "30"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as top:
        time.sleep(0.3)  # it has begun to wait
        top.send_signal(signal.SIGINT)
        assert top.wait(10) == 0
