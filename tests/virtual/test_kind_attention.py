"""Attention on devices of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.mark.parametrize("devices", ["cuda:1", "mps", "xpu:1", "npu:1"])
def test_attention_has_the_numbers_and_errors_of_the_cpu(run_virtual, devices: str) -> None:
    kind = devices.partition(":")[0]
    done = run_virtual(Path("attention_of_kinds.py"), devices=devices, args=[kind])
    assert done.stdout == "alike\n"
