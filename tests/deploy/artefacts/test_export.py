"""torchport.export, by programs that call it."""

from __future__ import annotations


def test_export(run_checks):
    run_checks("export_checks.py", timeout=600)


def test_export_on_virtual_devices(run_checks):
    run_checks("virtual_checks.py", env={"TORCHPORT_VIRTUAL": "cuda:2"})
