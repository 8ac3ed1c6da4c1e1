"""No fix in a real package adds an undefined name, an unused import or variable, or a second binding."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fixed_names
import pytest

HERE = Path(__file__).parent
WHOLE = os.environ.get("TORCHPORT_ECOSYSTEM") == "all"


def packages() -> list[Path]:
    listing = subprocess.run(
        [sys.executable, HERE / "fetch.py", "--set", "research", "--paths"],
        check=True,
        capture_output=True,
        text=True,
    )
    return [Path(line) for line in listing.stdout.split("\n") if line]


@pytest.mark.skipif(not WHOLE, reason="every package: make test-ecosystem")
@pytest.mark.parametrize("package", packages() if WHOLE else [], ids=lambda path: path.name)
def test_fixes_add_no_complaint_of_pyflakes(package: Path, tmp_path: Path) -> None:
    assert fixed_names.new_complaints(package, tmp_path) == []
