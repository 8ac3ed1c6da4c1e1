"""torch.cuda: the build that is answered for, and the devices that are visible."""

from __future__ import annotations

from pathlib import Path

import pytest


def test_the_default_build(run_virtual) -> None:
    run_virtual(Path("shim_build.py"), args=["13.0", 13000, 92000, True])


def test_older_devices_have_the_older_build(run_virtual) -> None:
    run_virtual(
        Path("shim_build.py"),
        devices="cuda:1,profile=v100-16g",
        args=["12.6", 12060, 91002, False],
    )


@pytest.mark.parametrize(
    ("visible", "count"), [("1,3", 2), ("", 0), ("-1", 0), ("2,7,1", 1), ("1,1", 0), ("0,1,2,3", 4)]
)
def test_visible_devices(run_virtual, visible: str, count: int) -> None:
    run_virtual(
        Path("shim_visible.py"), devices="cuda:4", args=[count], CUDA_VISIBLE_DEVICES=visible
    )


def test_visible_devices_chosen_after_the_import(run_virtual) -> None:
    run_virtual(Path("shim_visible.py"), devices="cuda:4", args=[2, "1,3"])
