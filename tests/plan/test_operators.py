"""Operators on devices without data, beside those on a device with data: operators_without_data.py compares them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

import operators_without_data as operators

# One of each sort that is not PyTorch's meta kernel alone, and the most frequent ones.
FEW = [
    "add",
    "bmm",
    "cat",
    "cumsum",
    "fft.fft2",
    "gather",
    "index_select",
    "linalg.svd",
    "masked_select",
    "mm",
    "multinomial",
    "nn.functional.conv2d",
    "nn.functional.layer_norm",
    "nn.functional.logsigmoid",
    "nonzero",
    "pow",
    "roll",
    "softmax",
    "sort",
    "to_sparse",
    "unique",
]


def test_few_operators() -> None:
    table = operators.compared([(name, "float32") for name in FEW])
    assert operators.verdict(table) == []


@pytest.mark.long
def test_every_operator() -> None:
    tasks = operators.all_tasks()
    assert len(tasks) > 600
    assert operators.verdict(operators.compared(tasks)) == []
    assert set(operators.known()) <= {name for name, _ in tasks}


def test_what_differs_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not listed is a failure, and so is what is listed and alike."""
    table = {"add": [], "nonzero": ["8B: 4 forward: results: [0, 1] | [5, 1]"]}
    monkeypatch.setattr(operators, "known", lambda: {"add": {"forward.peak"}})
    wrong = operators.verdict(table)
    assert wrong == [
        "add: forward.peak: is listed and alike",
        "nonzero: 8B: 4 forward: results: [0, 1] | [5, 1]",
    ]
    same = {"results": [], "arguments": [], "numbers": "int", "held": 0, "peak": 512}
    assert operators.difference(same, dict(same)) is None
    assert operators.difference(same, same | {"peak": 1024}) == "peak: 512 | 1024"
