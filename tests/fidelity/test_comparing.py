"""`make test-fidelity`: which recordings it takes, and which differences it lets pass."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from recorder import known  # noqa: E402
from recorder.comparison import Difference  # noqa: E402


def recording(**changed: Any) -> dict[str, Any]:
    from importlib import metadata

    release = metadata.version("torch").partition("+")[0]
    device = {"name": "NVIDIA H100 80GB HBM3", "torch": f"{release}+cu130", "driver": "580.1"}
    answers = {"errors": {"shapes": {"f @ f": {"raised": ["RuntimeError", "sizes"]}}}}
    whole = {"made": {"hash": "1"}, "virtual": False, "device": device, "answers": answers}
    return whole | changed


def compare(folder: Path, *words: object) -> subprocess.CompletedProcess:
    command = [sys.executable, HERE / "run.py", "--recordings", folder, "--results", folder / "out"]
    return subprocess.run(
        [str(word) for word in [*command, *words]], capture_output=True, text=True, check=False
    )


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def test_without_a_recording(tmp_path: Path) -> None:
    done = compare(tmp_path)
    assert done.returncode == 0 and "make record-device" in done.stdout


def test_a_virtual_recording_is_refused(tmp_path: Path) -> None:
    cpu = recording()
    cpu["device"] = cpu["device"] | {"torch": "2.13.0+cpu"}
    for name, one in {
        "virtual": recording(virtual=True),
        "unsaid": {k: v for k, v in recording().items() if k != "virtual"},
        "zero": recording(virtual=0),
        "cpu": cpu,
        "list": [],
    }.items():
        folder = tmp_path / name
        write(folder / "one.json", one)
        done = compare(folder, "--against", folder / "one.json")
        assert done.returncode == 1, name
        assert "alike" not in done.stdout, name
        assert "run.py: one.json" in done.stderr, name


KNOWN = """
[[difference]]
kind = "errors"
questions = "f @*"
cause = "torchport"
reason = "the text of the host's kernel"
"""


def test_known_and_unknown_differences(tmp_path: Path) -> None:
    one = recording()
    write(tmp_path / "one.json", one)
    other = json.loads(json.dumps(one))
    other["answers"]["errors"]["shapes"]["f @ f"]["raised"][1] = "other"
    other["answers"]["order"] = {"streams": {"new": {"value": 1}}}
    against = write(tmp_path / "against" / "other.json", other)
    alike = compare(tmp_path, "--against", tmp_path / "one.json")
    assert alike.returncode == 0, alike.stdout + alike.stderr
    differ = compare(tmp_path, "--against", against)
    assert differ.returncode == 1
    rows = [line.split() for line in differ.stdout.splitlines()]
    assert ["errors", "0", "1", "0"] in rows and ["order", "0", "0", "1"] in rows
    full = (tmp_path / "out" / "one.differences.txt").read_text()
    assert "errors/shapes: f @ f\n    raised[1]: 'sizes' and 'other'" in full
    (tmp_path / "known.toml").write_text(KNOWN)
    explained = compare(tmp_path, "--against", against, "--known", tmp_path / "known.toml")
    assert explained.returncode == 0, explained.stdout
    assert (
        "known: the text of the host's kernel"
        in (tmp_path / "out" / "one.differences.txt").read_text()
    )


def test_what_a_release_explains_is_no_excuse_for_the_same_release(tmp_path: Path) -> None:
    one, two = recording(), json.loads(json.dumps(recording()))
    own = one["device"]["torch"]
    one["device"]["torch"] = "2.1.0+cu121"
    two["answers"]["errors"]["shapes"]["f @ f"]["raised"][1] = "other"
    write(tmp_path / "one.json", one)
    against = write(tmp_path / "two" / "two.json", two)
    (tmp_path / "known.toml").write_text(
        '[[difference]]\nkind = "errors"\nquestions = "*"\ncause = "release"\nreason = "another build"\n'
    )
    words = ("--against", against, "--known", tmp_path / "known.toml")
    done = compare(tmp_path, *words)
    assert done.returncode == 0 and "the release's" in done.stdout, done.stdout
    one["device"]["torch"] = own
    write(tmp_path / "one.json", one)
    assert compare(tmp_path, *words).returncode == 1


@pytest.mark.parametrize(
    "changed, fits",
    [
        ({}, True),
        ({"kind": "memory"}, False),
        ({"questions": "g*"}, False),
        ({"message": "other"}, True),
        ({"message": "something else"}, False),
        ({"device": "NVIDIA H100*"}, True),
        ({"device": "Tesla T4"}, False),
    ],
)
def test_what_an_entry_fits(changed: dict[str, str], fits: bool) -> None:
    entry = {"kind": "errors", "questions": "f @*", "cause": "host", "reason": "r"} | changed
    difference = Difference("errors", "shapes", "f @ f", ("raised[1]: 'sizes' and 'other'",))
    assert known.Known(**entry).fits("NVIDIA H100 80GB HBM3", difference) is fits


def test_the_file_of_known_differences_is_read(tmp_path: Path) -> None:
    known.load(HERE / "known.toml")
    (tmp_path / "known.toml").write_text(KNOWN.replace("torchport", "nobody"))
    with pytest.raises(ValueError, match="no such cause"):
        known.load(tmp_path / "known.toml")


@pytest.mark.long
def test_virtual_devices_of_the_recorded_profile_are_asked(tmp_path: Path) -> None:
    """A whole round with the flag for these tests: a T4's recording is alike to a virtual T4."""
    group = tmp_path / "questions" / "odd"
    group.mkdir(parents=True)
    (group / "names.py").write_text(
        "import torch\nfrom recorder.registry import question\n"
        "@question()\ndef name(): return torch.cuda.get_device_name()\n"
    )
    one = recording(answers={"odd": {"names": {"name": {"value": "Tesla T4"}}}})
    one["device"]["name"] = "Tesla T4"
    write(tmp_path / "one.json", one)
    done = compare(tmp_path, "--questions", tmp_path / "questions")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ["odd", "1", "0", "0"] in [line.split() for line in done.stdout.splitlines()]
