"""The other kinds of virtual devices: mps and xpu."""

from __future__ import annotations

from pathlib import Path


def test_mps(run_virtual) -> None:
    run_virtual(Path("kind_mps.py"), devices="mps")


def test_xpu(run_virtual) -> None:
    run_virtual(Path("kind_xpu.py"), devices="xpu:2")


def test_npu(run_virtual) -> None:
    run_virtual(Path("kind_npu.py"), devices="npu:2")
