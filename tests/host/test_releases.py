"""The table of torch releases as Python reads it, and that C++ reads the same."""

from __future__ import annotations

import json

import pytest
from torchport import _releases


def test_what_pip_brings_is_the_first_build() -> None:
    by_version = {row["version"]: row for row in _releases._table()["releases"]}
    for version, row in by_version.items():
        default = _releases.cuda_builds(version)[0]
        assert "{}.{}".format(*default.version) == row["default_cuda"]
        assert default.cudnn and default.nccl
    assert [one.version for one in _releases.cuda_builds("2.15.0")] == [(13, 2), (13, 0)]
    assert _releases.cuda_builds("2.99.0") == ()


@pytest.mark.parametrize(
    ("torch", "capability", "cuda", "cudnn", "nccl"),
    [
        ("2.12.1+cpu", (8, 0), 13000, 92000, (2, 29, 7)),
        ("2.13.0+cu130", (9, 0), 13000, 92000, (2, 29, 7)),
        ("2.13.0", (7, 0), 12060, 91002, (2, 29, 3)),
        ("2.14.1", (8, 0), 13000, 92400, (2, 30, 7)),
        ("2.15.0", (10, 0), 13020, 92600, (2, 30, 7)),
        # No build of 2.15 has kernels for Volta: what is installed is the default.
        ("2.15.0", (7, 0), 13020, 92600, (2, 30, 7)),
    ],
)
def test_the_build_for_a_device(torch, capability, cuda, cudnn, nccl) -> None:
    build = _releases.cuda_build_for(torch, capability)
    assert (build.number, build.cudnn_number, build.nccl) == (cuda, cudnn, nccl)


def test_a_torch_that_is_newer_than_the_table_is_like_the_newest() -> None:
    newest = _releases._table()["releases"][0]["version"]
    for version in ("2.99.0a0+git1a2b3c4", "9.0"):
        assert _releases.builds_like(version) == _releases.cuda_builds(newest) != ()
    assert _releases.builds_like("1.13.1") == _releases.builds_like("unknown") == ()


def test_a_release_that_the_table_does_not_have() -> None:
    with pytest.raises(LookupError, match=r"does not know the builds of torch 1\.13\.1"):
        _releases.cuda_build_for("1.13.1", (8, 0))


def test_an_unknown_version_is_none() -> None:
    row = {"cuda": "13.0", "cudnn": None, "nccl": None, "archs": [75, 80]}
    build = _releases._build(row)
    assert build.cudnn is None and build.cudnn_number is None and build.nccl is None
    assert build.architectures == "sm_75 sm_80"


def test_doctor_and_python_read_the_same_table(torchport) -> None:
    """The program has the text compiled in, Python reads the file."""
    machine = {
        "system": "Linux",
        "machine": "x86_64",
        "gpus": [{"vendor": "nvidia", "capability": "9.0"}],
        "nvidia": {"module": "999.0", "library": "999.0", "nvml": "ok"},
    }
    torchport.write("machine.json", json.dumps(machine))
    verdict = json.loads(torchport("doctor", "--json", "--from", "machine.json").stdout)
    newest = _releases._table()["releases"][0]["version"]
    assert verdict["install"] == [f"pip install torch=={newest}", f"uv pip install torch=={newest}"]
    unserved = next(row for row in _releases._table()["releases"] if row["runtime"] is None)
    run = torchport("ci", "--torch", unserved["version"])
    supported = ", ".join(served.version for served in _releases.served_torches())
    assert run.returncode == 2 and f"only {supported}" in run.stderr
