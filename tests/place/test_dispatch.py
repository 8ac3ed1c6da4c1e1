from __future__ import annotations


def test_kernels_are_chosen_by_device(run_checks):
    run_checks("dispatch.py", devices="cuda:2")


def test_guards_and_retries(run_checks):
    run_checks("guards.py", devices="cuda:2,memory=256MiB")


def test_guards_without_a_gpu(run_checks):
    run_checks("guards.py")
