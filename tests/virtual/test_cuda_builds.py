"""torch.cuda: the build that is answered for, and the devices that are visible."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def release(torch_folder: Path) -> dict[str, Any]:
    """The row of this torch in the table of releases."""
    version = re.search(r"__version__ = '(\d+\.\d+)", (torch_folder / "version.py").read_text())
    table = json.loads((ROOT / "python/torchport/torch_releases.json").read_text())
    rows = [row for row in table["releases"] if row["version"].startswith(f"{version[1]}.")]
    return rows[0]


def arguments(build: dict[str, Any], bf16: bool) -> list[object]:
    """What shim_build.py has to find: "13.0", 13000, 92000 for cuDNN 9.20.0, and bfloat16 or not."""
    major, minor = map(int, build["cuda"].split("."))
    cudnn = [int(number) for number in build["cudnn"].split(".")]
    number = cudnn[0] * 10000 + cudnn[1] * 100 + cudnn[2]
    return [build["cuda"], major * 1000 + minor * 10, number, bf16]


def test_the_default_build(run_virtual, release) -> None:
    build = next(b for b in release["cuda"] if b["cuda"] == release["default_cuda"])
    run_virtual(Path("shim_build.py"), args=arguments(build, True))


def test_older_devices_have_the_older_build(run_virtual, release) -> None:
    builds = [build for build in release["cuda"] if 70 in build["archs"]]
    if not builds:
        pytest.skip("this release has no build for sm_70")
    profile = "cuda:1,profile=v100-16g"
    run_virtual(Path("shim_build.py"), devices=profile, args=arguments(builds[0], False))


@pytest.mark.parametrize(
    ("visible", "count"), [("1,3", 2), ("", 0), ("-1", 0), ("2,7,1", 1), ("1,1", 0), ("0,1,2,3", 4)]
)
def test_visible_devices(run_virtual, visible: str, count: int) -> None:
    run_virtual(
        Path("shim_visible.py"), devices="cuda:4", args=[count], CUDA_VISIBLE_DEVICES=visible
    )


def test_visible_devices_chosen_after_the_import(run_virtual) -> None:
    run_virtual(Path("shim_visible.py"), devices="cuda:4", args=[2, "1,3"])
