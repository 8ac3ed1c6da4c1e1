from __future__ import annotations


def test_moving(run_checks):
    run_checks("moving.py", devices="cuda:2")


def test_policy(run_checks):
    run_checks("policy.py", devices="cuda:2,memory=1GiB")
