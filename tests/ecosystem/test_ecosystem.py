"""Real packages through torchport: nothing breaks, nothing is fixed twice, no finding changes unseen.

The small set is part of `make test`; TORCHPORT_ECOSYSTEM=all (`make test-ecosystem`) takes every
package of the research set. TORCHPORT_UPDATE=1 rewrites findings.json from what is found; its
diff is then to be read.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
TORCHPORT = Path(os.environ.get("TORCHPORT_BINARY", Path(sys.executable).parent / "torchport"))
FINDINGS = HERE / "findings.json"
EVERY_RULE = ["--extend-select", "hygiene"]
SET = "research" if os.environ.get("TORCHPORT_ECOSYSTEM") == "all" else "small"


def packages() -> list[Path]:
    listing = subprocess.run(
        [sys.executable, HERE / "fetch.py", "--set", SET, "--paths"],
        check=True,
        capture_output=True,
        text=True,
    )
    return [Path(line) for line in listing.stdout.split("\n") if line]


def torchport(*words: object, cwd: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [TORCHPORT, *map(str, words)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def compiles(path: Path) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in old code
        try:
            compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
    return True


def digest(folder: Path) -> str:
    """One hash over every file below the folder, names included."""
    total = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and ".torchport" not in p.parts):
        total.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def findings_of(folder: Path) -> list[dict]:
    run = torchport(
        "check", "--no-cache", "--no-gitignore", *EVERY_RULE, "--format", "json", ".", cwd=folder
    )
    assert run.returncode in (0, 1), run.stderr
    return json.loads(run.stdout)["findings"]


@pytest.fixture(scope="module")
def expected() -> dict[str, dict[str, int]]:
    return json.loads(FINDINGS.read_text()) if FINDINGS.exists() else {}


@pytest.mark.parametrize("package", packages(), ids=lambda path: path.name)
def test_findings_change_only_on_purpose(package: Path, expected: dict) -> None:
    counts = dict(sorted(Counter(finding["code"] for finding in findings_of(package)).items()))
    if os.environ.get("TORCHPORT_UPDATE"):
        table = json.loads(FINDINGS.read_text()) if FINDINGS.exists() else {}
        table[package.name] = counts
        FINDINGS.write_text(json.dumps(dict(sorted(table.items())), indent=1) + "\n")
        return
    assert counts == expected.get(package.name), (
        "read the findings, then run with TORCHPORT_UPDATE=1"
    )


@pytest.mark.parametrize("package", packages(), ids=lambda path: path.name)
def test_fix_breaks_nothing_and_settles(package: Path, tmp_path: Path) -> None:
    copy = tmp_path / package.name
    shutil.copytree(package, copy)
    before = digest(copy)
    whole = {path for path in copy.rglob("*.py") if path.is_file() and compiles(path)}

    first = torchport("fix", "--unsafe-fixes", "--no-gitignore", *EVERY_RULE, ".", cwd=copy)
    assert first.returncode in (0, 1), first.stderr
    assert "broke the syntax" not in first.stderr, first.stderr
    broken = [str(path.relative_to(copy)) for path in sorted(whole) if not compiles(path)]
    assert broken == []

    fixed = digest(copy)
    second = torchport("fix", "--unsafe-fixes", "--no-gitignore", *EVERY_RULE, ".", cwd=copy)
    assert second.returncode in (0, 1), second.stderr
    assert digest(copy) == fixed, "a second run changed something:\n" + second.stdout

    if fixed != before:
        undone = torchport("fix", "--undo", ".", cwd=copy)
        # The second run wrote nothing, so the journal is still the first one's.
        assert undone.returncode == 0, undone.stderr
        assert digest(copy) == before, "undo did not bring the files back"
