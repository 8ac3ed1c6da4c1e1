"""Tensors on devices in several processes."""

from __future__ import annotations

from pathlib import Path


def test_tensors_in_several_processes(run_virtual) -> None:
    run_virtual(Path("shim_sharing.py"))
