from __future__ import annotations

import pytest


@pytest.mark.parametrize("devices", ["cuda:1", None], ids=["virtual", "cpu"])
def test_stray_tensors_are_adopted(run_checks, devices):
    run_checks("adopt.py", devices=devices)


def test_registry_and_program_are_kept_together(run_checks):
    run_checks("desync.py", devices="cuda:2")
