"""`torchport top` sees the memory of virtual devices, of all processes of a command."""

from __future__ import annotations

import json

import pytest

# The number of a process is what another one sees.
pytestmark = pytest.mark.own_process

PROGRAM = """
import os, sys, time, torch
if len(sys.argv) == 1 and os.fork() == 0:
    os.execv(sys.executable, [sys.executable, sys.argv[0], "child"])
x = torch.ones(64 << 20, dtype=torch.uint8, device="cuda:1")
time.sleep(0.5)
if len(sys.argv) == 1:
    os.wait()
"""


def test_the_memory_of_virtual_devices_is_shown(torchport):
    torchport.write("program.py", PROGRAM)
    done = torchport(
        *("top", "--json", "--interval", 0.1, "--"),
        *(torchport.program, "run", "-q", "--devices", "cuda:2", "program.py"),
    )
    assert done.returncode == 0, done.stderr
    looks = [json.loads(line)["devices"] for line in done.stderr.splitlines()]
    used = [
        {device["name"]: device["used_bytes"] for device in look if device["name"] != "cpu"}
        for look in looks
    ]
    assert max(of.get("cuda:1", 0) for of in used) == 2 * (64 << 20)
    assert max(of.get("cuda:0", 0) for of in used) == 0
    plain = torchport("top", "--", torchport.program, "run", "-q", "program.py", "child")
    assert plain.returncode == 1  # there is no cuda:1
    assert "cuda:0   memory at most 0 bytes of 79.25 GiB" in plain.stderr
