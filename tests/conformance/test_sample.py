"""Sixty operators of PyTorch's own database, drawn by chance, on virtual devices; and the harness
itself. All of them: make test-conformance."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

import run

SEED = 4


def table_of(**options: object) -> run.Table:
    arguments = argparse.Namespace(
        **{"dtypes": "float32", "only": None, "sample": None, "seed": SEED, **options}
    )
    return run.compare_all(run.chosen(arguments), 2)


def test_sample() -> None:
    table = table_of(sample=60)
    assert len(table) == 60
    assert run.verdict(table) == []


@pytest.mark.long
def test_what_differs_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """tensor_split wants its indices on the CPU; with nothing listed that is a failure, and what is
    listed but alike is one, too."""
    table = table_of(only="^(tensor_split|add)$")
    assert set(table) == {("add", "float32"), ("tensor_split", "float32")}
    monkeypatch.setattr(run, "known", lambda: {("add", "float32"): {"forward.value"}})
    wrong = run.verdict(table)
    assert any(text.startswith("tensor_split float32: forward.raises") for text in wrong)
    assert any("add float32: forward.value: alike now" in text for text in wrong)


def test_a_worker_that_dies_is_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "worker.py").write_text("import sys; sys.stdin.readline(); sys.exit(3)\n")
    monkeypatch.setattr(run, "HERE", tmp_path)
    assert run.Worker().compare(("add", "float32")) == ["crash: the process died"]
