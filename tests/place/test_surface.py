from __future__ import annotations


def test_examples_and_names_of_the_public_surface(run_checks):
    run_checks("examples.py")


def test_the_stub_tells_the_truth(run_checks):
    run_checks("bindings.py")
