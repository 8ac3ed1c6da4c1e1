"""What the tests of written files share: linters, and small projects to write them for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINTERS = ROOT / "build" / "linters" / "bin"


@pytest.fixture(scope="session")
def lint():
    """Runs a linter of deps/linters.lock on a file; fails with what it says."""

    def run(*words: object) -> str:
        program = LINTERS / str(words[0])
        assert program.exists(), f"{program} is missing: `make test` fetches it"
        done = subprocess.run(
            [program, *map(str, words[1:])], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
