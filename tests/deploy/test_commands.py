"""What the commands on Python's objects do before they need torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

COMMANDS = {
    "verify": "torchport.observe.command",
    "export": "torchport.deploy.artefact.command",
    "bench": "torchport.deploy.bench.command",
}
PROGRAM = """
import runpy, sys
sys.argv[1:] = sys.argv[2:]
try:
    runpy.run_module(sys.argv.pop(), run_name="__main__")
finally:
    print("torch is", "loaded" if "torch" in sys.modules else "not loaded", file=sys.stderr)
"""


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("word, code", [("--help", 0), ("--no-such-option", 2)])
def test_help_and_wrong_use_do_not_wait_for_torch(name, word, code):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name, word, COMMANDS[name]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert f"usage: torchport {name}" in done.stdout + done.stderr
    assert done.stderr.endswith("torch is not loaded\n"), done.stderr
