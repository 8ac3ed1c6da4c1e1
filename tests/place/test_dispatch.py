from __future__ import annotations


def test_kernels_are_chosen_by_device(run_checks):
    run_checks("kernels.py", devices="cuda:2")
