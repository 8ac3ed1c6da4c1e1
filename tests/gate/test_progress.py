"""What a person sees of a build, and of a download, while it runs."""

from __future__ import annotations

import importlib.util
import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRESS = ROOT / "deps" / "progress.py"

BUILD = """
import sys, time
for step in range(1, 41):
    print(f"[{step}/40] Building CXX object src/base/CMakeFiles/torchport_base.dir/Unity/unity_{step}_cxx.cxx.o")
    sys.stdout.flush()
    time.sleep(0.05)
    if step == 20:
        print("x.cpp:3: warning: unused")
print("FAILED: src/base/x.o\\n/usr/bin/c++ -o src/base/x.o\\nx.cpp:4: error: no such thing", file=sys.stderr)
print("ninja: build stopped: subcommand failed.")
sys.exit(3)
"""


def build(*words: str, program: str = BUILD) -> subprocess.CompletedProcess:
    command = [sys.executable, PROGRESS, *words, sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_build_tells_how_far_it_is_and_all_that_a_compiler_says() -> None:
    done = build("--every", "0.5")
    assert done.returncode == 3 and done.stderr == ""
    first, *lines, last = done.stdout.splitlines()
    assert first == "== compiling: 40 steps"
    assert re.fullmatch(r"== compiled: 40 of 40 steps in \d+ s", last)
    told = [line for line in lines if line.startswith("   ")]
    assert 2 <= len(told) <= 8
    assert re.fullmatch(
        r"   \d+ of 40 \(\d+%\), \d+ s: Building CXX src/base/torchport_base/unity_\d+", told[0]
    )
    assert [line for line in lines if line not in told] == [
        "x.cpp:3: warning: unused",
        "FAILED: src/base/x.o",
        "/usr/bin/c++ -o src/base/x.o",
        "x.cpp:4: error: no such thing",
        "ninja: build stopped: subcommand failed.",
    ]


def test_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("progress", PROGRESS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    clock = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    out = io.StringIO()
    progress = module.Progress(out, every=30)
    for seconds, done in ((1, 1), (10, 2), (31, 10), (40, 20), (600, 30)):
        clock[0] = seconds
        progress.step(done, 40, "Linking CXX executable tests/base_test")
    assert out.getvalue().splitlines() == [
        "== compiling: 40 steps",
        "   10 of 40 (25%), 31 s, about 2 min left: Linking CXX tests/base_test",
        "   30 of 40 (75%), 10 min, about 3 min left: Linking CXX tests/base_test",
    ]


@pytest.mark.parametrize(
    "printed", ["ninja: no work to do.", "[1/1] Re-checking globbed directories..."]
)
def test_a_build_with_nothing_to_do_says_nothing(printed: str) -> None:
    done = build(program=f"print({printed!r})")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_signal_is_no_success() -> None:
    assert build(program="import os; os.abort()").returncode == 128 + 6


def test_a_terminal_has_one_line() -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, PROGRESS, sys.executable, "-c", BUILD]
    environment = os.environ | {"COLUMNS": "60"}
    child = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen = b""
    try:
        while block := os.read(ours, 4096):
            seen += block
    except OSError:  # Linux's answer where the other end is closed
        pass
    assert child.wait(timeout=60) == 3
    text = seen.decode()
    shown = [line for line in text.split("\r") if line.startswith("   ")]
    assert len(shown) >= 40 and all(len(line.removesuffix("\x1b[K")) < 60 for line in shown)
    assert "\r\x1b[Kx.cpp:4: error: no such thing\r\n" in text


def test_a_download_tells_what_it_waits_for(tmp_path: Path) -> None:
    """`quietly` of deps/install.sh: the command's last line, every few seconds."""
    text = (ROOT / "deps/install.sh").read_text()
    functions = text[text.index("waits_for()") : text.index("# --- Debian packages")]
    script = f'set -euo pipefail\nEVERY=1\n{functions}\nquietly bash -c "$1"\n'

    def run(command: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["bash", "-c", script, "x", command],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    done = run("echo Collecting torch; echo '  Downloading torch.whl (180 MB)'; sleep 2.5")
    assert done.returncode == 0 and done.stdout == ""
    assert done.stderr.splitlines()[0] == "   1 s: Downloading torch.whl (180 MB)"
    assert 1 <= len(done.stderr.splitlines()) <= 3
    assert run("echo fast").stderr == ""
    failed = run("echo no network; exit 7")
    assert failed.returncode == 7 and failed.stderr == "no network\n"
