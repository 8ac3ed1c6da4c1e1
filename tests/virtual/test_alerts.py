"""What a real device says beyond results: alerts, types of tensors, answers of torch.backends."""

from __future__ import annotations

from pathlib import Path


def test_alerts_of_nondeterminism_and_of_waiting(run_virtual) -> None:
    run_virtual(Path("alerts.py"))


def test_types_backends_and_views_of_bits(run_virtual) -> None:
    run_virtual(Path("types_and_queries.py"))
