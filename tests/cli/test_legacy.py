"""examples/legacy: every tie its list names is found, no near miss is, and the port trains here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEGACY = ROOT / "examples/legacy"
EXPECTED = json.loads((LEGACY / "expected_ties.json").read_text())


def lines(entry: dict) -> range:
    first, last = entry.get("lines", [entry["line"], entry["line"]])
    return range(first, last + 1)


@pytest.fixture(scope="module")
def findings() -> list[dict]:
    run = subprocess.run(
        [
            Path(sys.executable).parent / "torchport",
            "check",
            "--no-cache",
            "--extend-select",
            "hygiene",
            "--format",
            "json",
            ".",
        ],
        cwd=LEGACY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1, run.stderr
    return json.loads(run.stdout)["findings"]


def test_every_tie_is_found(findings) -> None:
    seen = {(f["path"], f["line"]) for f in findings}
    missed = [e for e in EXPECTED["ties"] if not any((e["file"], n) in seen for n in lines(e))]
    assert [(e["file"], e["line"]) for e in missed] == []
    assert len(EXPECTED["ties"]) >= 40


def test_nothing_else_is_reported(findings) -> None:
    fair = {(e["file"], n) for e in EXPECTED["ties"] + EXPECTED["either"] for n in lines(e)}
    assert [
        (f["path"], f["line"], f["code"]) for f in findings if (f["path"], f["line"]) not in fair
    ] == []


def test_near_misses_are_left_alone(findings) -> None:
    near = {(e["file"], n) for e in EXPECTED["near_misses"] for n in lines(e)}
    assert [
        (f["path"], f["line"], f["code"]) for f in findings if (f["path"], f["line"]) in near
    ] == []


def test_the_port_trains_and_infers_on_this_host() -> None:
    run = subprocess.run(
        ["bash", "examples/demo.sh"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert "final: train_loss" in run.stdout and "infer: images 128 acc" in run.stdout
