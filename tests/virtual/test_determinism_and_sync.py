"""What a real device says beyond results: refusals, waits, types of tensors, answers of torch."""

from __future__ import annotations

from pathlib import Path


def test_nondeterminism_is_refused_and_waiting_is_told(run_virtual) -> None:
    run_virtual(Path("determinism_and_sync.py"))


def test_types_backends_and_views_of_bits(run_virtual) -> None:
    run_virtual(Path("types_and_queries.py"))
