"""The program that records a device, on virtual devices: answers, crashes, interruptions."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from recorder import comparison, normal  # noqa: E402

# A few questions of each kind but the one that needs PyTorch's database of operators.
PART = [
    "--only", "errors/asserts", "errors/devices", "memory", "numbers/values", "order", "random",
    "torch_cuda/answers", "--names", "x.take(bad)", "torch.mm(m, hm)", "kept: around 512 bytes",
    "t(sp)", "sleep_is_asynchronous", "uniform_() float16", "get_rng_state().shape",
]  # fmt: skip
KINDS = ["errors", "memory", "numbers", "order", "random", "torch_cuda"]


def environment() -> dict[str, str]:
    settings = {k: v for k, v in os.environ.items() if not k.startswith("TORCHPORT_")}
    return settings | {
        "TORCHPORT_VIRTUAL": "cuda:1",
        "TORCHPORT_ERRORS": "device",
        "OMP_NUM_THREADS": "1",
    }


def command(*words: object) -> list[str]:
    return [sys.executable, str(HERE / "record.py"), *map(str, words)]


def record(*words: object, status: int = 0) -> str:
    done = subprocess.run(
        command(*words), env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A small part of the questions, asked twice."""
    folder = tmp_path_factory.mktemp("recorded")
    paths = [folder / "first.json", folder / "second.json"]
    for path in paths:
        record(*PART, "--output", path)
    return paths


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def test_two_recordings_are_alike(recorded: list[Path]) -> None:
    first = read(recorded[0])
    assert sorted(first["answers"]) == KINDS
    assert first["complete"] and first["virtual"] is True and not first["whole"]
    result = comparison.compare(first, read(recorded[1]))
    assert result.differences == []
    assert sum(tally.alike for tally in result.tallies.values()) >= 12
    done = subprocess.run(command("--compare", *recorded), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1].split()[0] == "all"


def test_answers_are_those_of_the_device(recorded: list[Path]) -> None:
    answers = read(recorded[0])["answers"]
    kind, text = answers["errors"]["devices"]["torch.mm(m, hm)"]["raised"]
    assert kind == "RuntimeError" and "wrapper_CUDA_mm" in text
    asserted = answers["errors"]["asserts"]["x.take(bad)"]
    assert "Assertion `idx < numel" in asserted["printed"][0]
    assert asserted["value"]["on the host"] == "went on"
    steps = answers["memory"]["sequences"]["kept: around 512 bytes"]["value"]
    # No block for 0 bytes, three of 512 for 1, 511 and 512, and one of 1024.
    assert steps["513"][:2] == [3 * 512 + 1024, 2 << 20]
    drawn = answers["random"]["operators"]["uniform_() float16 1000"]["value"]
    assert len(drawn["drawn"]["values"]) == 8 and drawn["drawn"]["bytes"] and drawn["offset"] == 4
    before, _, after = answers["order"]["streams"]["sleep_is_asynchronous"]["value"]
    assert before is True and after is True


def test_says_how_it_was_made_and_nothing_of_people(recorded: list[Path]) -> None:
    first = read(recorded[0])
    assert first["device"]["name"] == "NVIDIA A100-SXM4-80GB" and first["device"]["driver"] is None
    assert {"hash", "date", "program", "python"} <= first["made"].keys()
    text = recorded[0].read_text()
    for word in (str(Path.home()), os.uname().nodename, str(HERE), "/tmp/"):
        assert word not in text, word


def plant(value: Any) -> Any:
    """The value with its last leaf changed, as another device would answer."""
    if isinstance(value, dict):
        key = [k for k in value if k != "tolerance"][-1]
        return value | {key: plant(value[key])}
    if isinstance(value, list) and value:
        return [*value[:-1], plant(value[-1])]
    if isinstance(value, bool):
        return not value
    return value * 2 + 1 if isinstance(value, (int, float)) else f"{value} planted"


@pytest.mark.parametrize("kind", [*KINDS, "types"])
def test_a_planted_difference_is_found(kind: str, recorded: list[Path]) -> None:
    first = read(recorded[0])
    first["answers"]["types"] = {"operators": {"add": {"value": {"bool": True, "int8": "no"}}}}
    second = copy.deepcopy(first)
    for group in second["answers"][kind].values():
        for name in group:
            group[name] = plant(group[name])
    result = comparison.compare(first, second)
    asked = sum(map(len, second["answers"][kind].values()))
    assert [one.kind for one in result.differences] == [kind] * asked
    assert result.tallies[kind].differ == asked and all(one.lines for one in result.differences)


QUESTIONS = """
import os, signal, time, torch
from recorder.registry import question
@question()
def first(): return torch.ones(1, device="cuda").item()
@question()
def crashes(): os.kill(os.getpid(), signal.SIGSEGV)
@question()
def between(): return [1.0, float("nan")]
@question(seconds=0.3)
def hangs(): time.sleep(60)
@question()
def exits(): os._exit(0)
@question()
def loses_the_device(): torch.ones(2, device="cuda")[torch.tensor([5], device="cuda")].cpu()
@question(devices=9)
def many(): return 1
@question(alone=True)
def alone(): os.kill(os.getpid(), signal.SIGKILL)
@question()
def last(): return torch.ones(1, device="cuda").item()
"""


def test_one_question_costs_one_answer(tmp_path: Path) -> None:
    group = tmp_path / "questions" / "odd"
    group.mkdir(parents=True)
    (group / "ends.py").write_text(QUESTIONS)
    (group / "useless.py").write_text(
        "from recorder.registry import generated\n@generated\ndef f(): 1/0"
    )
    record("--questions", tmp_path / "questions", "--output", tmp_path / "odd.json")
    found = read(tmp_path / "odd.json")["answers"]["odd"]
    ends = found["ends"]
    assert ends["first"] == ends["last"] == {"value": 1.0}
    assert ends["between"] == {"value": [1.0, "nan"]}
    assert ends["crashes"] == {"crashed": "ended by SIGSEGV"}
    assert ends["alone"] == {"crashed": "ended by SIGKILL"}
    assert ends["exits"] == {"crashed": "ended with status 0"}
    assert ends["hangs"] == {"crashed": "no answer within 0.3 seconds"}
    assert ends["loses_the_device"]["raised"][0] == "torch.AcceleratorError"
    assert ends["many"] == {"not answered": "needs 9 devices, there is 1"}
    assert len(ends) == 9
    assert "ended with status 1" in found["useless"]["(the group)"]["crashed"]


def test_an_interrupted_recording_goes_on(tmp_path: Path) -> None:
    for kind, code in (
        ("a", "return 1"),
        ("b", "import time; time.sleep(0 if Q.exists() else 60)"),
    ):
        group = tmp_path / "questions" / kind
        group.mkdir(parents=True)
        text = f"from pathlib import Path\nfrom recorder.registry import question\nQ = Path({str(tmp_path / 'quick')!r})\n"
        (group / "one.py").write_text(f"{text}@question()\ndef one():\n    {code}\n")
    output = tmp_path / "out.json"
    words = ("--questions", tmp_path / "questions", "--output", output)
    running = subprocess.Popen(
        command(*words), env=environment(), stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    for line in running.stdout:
        if line.startswith("a/one"):
            break
    time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    assert "goes on" in running.stdout.read()
    assert running.wait(20) == 130
    part = read(output)
    assert part["complete"] is False and part["answers"]["a"] == {"one": {"one": {"value": 1}}}
    part["answers"]["a"]["one"]["one"]["value"] = "kept"
    output.write_text(json.dumps(part))
    (tmp_path / "quick").touch()
    assert "1 answers are in" in record(*words)
    whole = read(output)
    assert whole["complete"] and whole["answers"]["b"] == {"one": {"one": {"value": None}}}
    assert whole["answers"]["a"]["one"]["one"]["value"] == "kept"


def test_wrong_words(tmp_path: Path) -> None:
    assert "kinds: cuda, errors, memory" in record("--only", "nonsense", status=2)


@pytest.mark.parametrize(
    "given, wanted",
    [
        ("at 0x7f00aa12 in /home/someone/env/lib/x.py", "at ADDRESS in PATH/x.py"),
        ("see https://docs.pytorch.org/docs/stable/a.html", None),
        ("/pytorch/aten/src/ATen/native/cuda/Loss.cu:245: f", None),
        ("Process 4711 has 17.00 MiB memory in use. Of", "Of"),
        ("a 3/4 and c10/cuda/CUDAException.cpp", None),
        ("error\n\ntorchport: it happened at PATH/a.py:3, in aten::gather: no.\n", "error"),
        ("Some text (Triggered internally at /pytorch/aten/src/ATen/Context.cpp:160.)", "Some text"),
        ("FAILED at \"/pytorch/aten/src/ATen/A.cpp\":23, please", "FAILED at \"PATH/A.cpp\":23, please"),
        ("resolutions. 'aten::x' is only available for these backends: [CPU].\n\nCPU: registered", "resolutions."),
        ("GPU 0 has a total capacity of 79.25 GiB of which 3.00 MiB is free. x", "GPU 0 has a total capacity of SIZE. x"),
    ],
)  # fmt: skip
def test_texts_lose_what_varies_and_nothing_else(given: str, wanted: str | None) -> None:
    assert normal.comparable(given) == (given if wanted is None else wanted)


def test_floats_within_a_tolerance() -> None:
    first = {"value": {"drawn": {"values": [1.0, 2], "bytes": "a"}}, "tolerance": 1e-3}
    near = {"value": {"drawn": {"values": [1.0005, 2], "bytes": "b"}}, "tolerance": 1e-3}
    far = {"value": {"drawn": {"values": [1.01, 3], "bytes": "a"}}, "tolerance": 1e-3}
    assert comparison.differences(first, near) == []
    assert len(comparison.differences(first, far)) == 2
    assert len(comparison.differences({"value": 1.0}, {"value": 1.0000001})) == 1
