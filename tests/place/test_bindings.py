from __future__ import annotations


def test_the_stub_tells_the_truth(run_checks):
    run_checks("bindings.py")
