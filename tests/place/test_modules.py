from __future__ import annotations

import pytest


@pytest.mark.parametrize("devices", ["cuda:1", None], ids=["virtual", "cpu"])
def test_stray_tensors_are_adopted(run_checks, devices):
    run_checks("adopt.py", devices=devices)
