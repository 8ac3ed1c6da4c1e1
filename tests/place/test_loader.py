from __future__ import annotations

import pytest


@pytest.mark.parametrize("devices", ["cuda:2", None], ids=["virtual", "cpu"])
def test_batches_are_there_before_they_are_asked_for(run_checks, devices):
    run_checks("loading.py", devices=devices)
