"""`torchport doctor`: recorded machines, each with the verdict that is argued in its file."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path

import pytest
from recorded_hosts import Host, hosts

SNAPSHOTS = sorted((Path(__file__).parent / "snapshots").glob("*.json"))


@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda path: path.stem)
def test_recorded_machines(torchport, path: Path) -> None:
    recorded = json.loads(path.read_text())
    assert recorded["why"]
    run = torchport("doctor", "--json", "--from", path)
    verdict = json.loads(run.stdout)
    expected = recorded["expected"]
    assert verdict["state"] == expected["state"], verdict
    assert [finding["code"] for finding in verdict["findings"]] == expected["codes"]
    assert verdict["install"] == expected["install"]
    assert run.returncode == (1 if expected["state"] in ("cannot", "no torch") else 0)
    for finding in verdict["findings"]:
        assert finding["what"] and finding["remedy"]
    # What it wrote is a snapshot of the same machine.
    again = torchport.write("again.json", run.stdout)
    assert torchport("doctor", "--json", "--from", again).stdout == run.stdout


@pytest.mark.parametrize("host", hosts(), ids=lambda host: host.name)
def test_recorded_hosts(torchport, host: Host) -> None:
    torchport.write("host.json", json.dumps({"facts": host.facts}))
    run = torchport("doctor", "--json", "--from", "host.json")
    verdict = json.loads(run.stdout)
    assert host.expected["why"] and host.faults(verdict) == []
    for finding in verdict["findings"]:
        assert finding["what"] and finding["remedy"]
    bad = host.expected["state"] in ("cannot", "no torch", "unknown")
    assert run.returncode == (1 if bad else 0)


def test_records_are_many_and_each_has_its_own_name() -> None:
    names = [host.name for host in hosts()] + [path.stem for path in SNAPSHOTS]
    assert len(set(names)) == len(names) >= 120


def test_this_machine_in_text_and_json(torchport) -> None:
    started = time.monotonic()
    run = torchport("doctor")
    assert time.monotonic() - started < 5
    assert run.returncode in (0, 1) and run.stdout.startswith("  system       Linux")
    facts = json.loads(torchport("doctor", "--json").stdout)["facts"]
    assert facts["kernel"] == os.uname().release
    # The torch of the environment that the program is in.
    assert facts["torches"][0]["version"].startswith("2.") and not facts["torches"][0]["fault"]


def environment(folder: Path, version: str) -> Path:
    torch = folder / "lib" / "python3.11" / "site-packages" / "torch"
    (torch / "lib").mkdir(parents=True)
    (torch / "version.py").write_text(version)
    return torch


def test_torch_is_read_from_its_files(torchport, tmp_path: Path) -> None:
    root = environment(
        tmp_path, "__version__ = '2.12.1+cu126'\ncuda: Optional[str] = '12.6'\nhip = None\n"
    )
    library = root / "lib" / "libtorch_python.so"
    library.write_bytes(b"\x7fELF sm_\0xsm_50\0\0sm_50 sm_60 sm_70 sm_75 compute_90\0sm_1\0")
    found = json.loads(torchport("doctor", "--json", env={"VIRTUAL_ENV": str(tmp_path)}).stdout)
    torch = found["facts"]["torches"][0]
    assert (torch["version"], torch["cuda"], torch["hip"]) == ("2.12.1+cu126", "12.6", "")
    assert torch["archs"] == ["sm_50", "sm_60", "sm_70", "sm_75", "compute_90"]


@pytest.mark.parametrize(
    "text", ["", "\xff\x00garbage", "__version__ = None", "__version__ = '", "cuda"]
)
def test_broken_torch_metadata(torchport, tmp_path: Path, text: str) -> None:
    environment(tmp_path, text)
    run = torchport("doctor", "--json", env={"VIRTUAL_ENV": str(tmp_path)})
    torch = json.loads(run.stdout)["facts"]["torches"][0]
    assert torch["fault"] and run.stderr == ""


def test_an_nvcc_that_hangs(torchport, tmp_path: Path) -> None:
    nvcc = tmp_path / "cuda" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text("#!/bin/sh\nsleep 60\n")
    nvcc.chmod(nvcc.stat().st_mode | stat.S_IXUSR)
    started = time.monotonic()
    run = torchport("doctor", env={"CUDA_HOME": str(tmp_path / "cuda")})
    assert time.monotonic() - started < 15
    assert f"{tmp_path}/cuda (CUDA_HOME), nvcc does not run" in run.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a JSON object"),
        ("[1]", "not a JSON object"),
        ('{"facts": {"gpus": [{"memory": "much"}]}}', '"gpus[0].memory" has the wrong type'),
        ('{"environment": {"A": 1}}', '"environment.A" has the wrong type'),
        ('{"torches": {}}', '"torches" has the wrong type'),
        ('{"torches": [{"archs": [1]}]}', '"torches[0].archs[0]" has the wrong type'),
    ],
)
def test_hostile_snapshots(torchport, text: str, words: str) -> None:
    torchport.write("bad.json", text)
    run = torchport("doctor", "--from", "bad.json")
    assert run.returncode == 2 and words in run.stderr


def test_a_users_site_hides_a_systems_torch(torchport, tmp_path: Path) -> None:
    system = tmp_path / "system"
    environment(system, "__version__ = '2.13.0+cu130'\ncuda = '13.0'\n")
    environment(tmp_path / "home" / ".local", "__version__ = '2.11.0+cpu'\ncuda = None\n")
    found = {"CONDA_PREFIX": str(system), "HOME": str(tmp_path / "home"), "VIRTUAL_ENV": ""}

    def versions(more: dict) -> list[str]:
        facts = json.loads(torchport("doctor", "--json", env=found | more).stdout)["facts"]
        assert facts["python"] == "3.11"
        return [torch["version"] for torch in facts["torches"]]

    assert versions({}) == ["2.11.0+cpu", "2.13.0+cu130"]
    assert versions({"PYTHONNOUSERSITE": "1"}) == ["2.13.0+cu130"]
    (system / "pyvenv.cfg").write_text("include-system-site-packages = false\n")
    assert versions({}) == ["2.13.0+cu130"]
    (system / "pyvenv.cfg").write_text("include-system-site-packages = true\n")
    assert versions({}) == ["2.11.0+cpu", "2.13.0+cu130"]


def test_a_torch_that_is_compiled_for_another_python(torchport, tmp_path: Path) -> None:
    root = environment(tmp_path, "__version__ = '2.13.0+cpu'\ncuda = None\n")
    (root / "lib" / "libtorch_python.so").touch()
    module = root / "_C.cpython-310-x86_64-linux-gnu.so"
    module.touch()
    settings = {"VIRTUAL_ENV": str(tmp_path)}
    run = torchport("doctor", "--require", "cpu", env=settings)
    assert run.returncode == 1 and "compiled for Python 3.10, but this is Python 3.11" in run.stdout
    module.with_name("_C.cpython-311-x86_64-linux-gnu.so").touch()
    assert torchport("doctor", "--require", "cpu", env=settings).returncode == 0


def test_wrong_use(torchport) -> None:
    assert torchport("doctor", "--from", "absent.json").returncode == 2
    assert torchport("doctor", "surplus").returncode == 2
