from __future__ import annotations

import pytest


@pytest.mark.parametrize("devices", ["cuda:1", None], ids=["virtual", "cpu"])
def test_stray_tensors_are_adopted(run_checks, devices):
    run_checks("adopt.py", devices=devices)


def test_all_who_look_for_tensors_see_the_same(run_checks):
    run_checks("odd_objects.py", devices="cuda:1")


def test_registry_and_program_are_kept_together(run_checks):
    run_checks("consistency.py", devices="cuda:2")
