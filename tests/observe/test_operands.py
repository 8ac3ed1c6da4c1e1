"""Which operand of a condition or an f-string reads the device."""

from __future__ import annotations

import sys
from pathlib import Path

import conditions
import pytest
import torch
import torchport
from torchport.observe.operands import operand_in

pytestmark = [
    pytest.mark.devices("cuda:1"),
    pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 knows lines alone"),
]

SOURCE = Path(conditions.__file__).read_text().splitlines()


def test_the_operand_that_reads_is_named() -> None:
    result = torchport.verify(
        conditions.Conditions(),
        torch.tensor([[0.5, 2.0], [1.0, 3.0]]),
        device="cuda",
        evaluate=True,
    )
    reads = [t for t in result.transfers if t.kind in ("read", "to host")]
    found: dict[int, set[str]] = {}
    for read in reads:
        assert read.line is not None and read.line.file == conditions.__file__
        found.setdefault(read.line.line, set()).add(read.line.expression)
        column = read.line.column
        assert read.line.text[column : column + len(read.line.expression)] == read.line.expression
    first, last = conditions.Conditions.forward.__code__.co_firstlineno, max(found)
    expected = {}
    for number in range(first, last + 1):
        marked = SOURCE[number - 1].partition("  # ")[2]
        if marked and marked != "nothing":
            expected[number] = set(marked.removeprefix("copy: ").split(" | "))
    assert found == expected
    told = "\n".join(one.message for one in result.findings)
    assert "x.sum() > 0 reads cuda:0" in told and "is not None" not in told


def test_a_value_from_several_places_is_the_whole() -> None:
    def chosen(a, b, c, d):
        return (a if c else b) and d

    spans = [operand_in(chosen.__code__, offset) for offset in range(0, 80, 2)]
    line = Path(__file__).read_text().splitlines()[chosen.__code__.co_firstlineno]
    texts = {line.encode()[s.column : s.end_column].decode() for s in spans if s is not None}
    assert texts == {"c"}, "a and b may both be what `and` tests"
