"""torchport verify: devices, ways to say what to run, reports, exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from browser import look, needs_chromium
from torchport import _device_kinds
from torchport.observe import command

HAS_GPU = Path("/dev/nvidiactl").exists()


def test_a_laptop_finds_what_only_a_gpu_would_show(verify) -> None:
    here = verify("zoo:masked", "--input", "zoo:tokens", "--eval")
    assert here.returncode == 0, "on the CPU it runs"
    assert here.stdout.rstrip().endswith("verified")
    there = verify("zoo:masked", "--input", "zoo:tokens", "--eval", "--device", "cuda")
    assert there.returncode == 1, there.stderr
    assert HAS_GPU or "virtual devices: cuda:1" in there.stderr
    text = there.stdout
    assert "Mixed devices: mul.Tensor at zoo.py:" in text
    assert "pattern: intermediate" in text
    assert "+ mask = torch.ones(x.shape[1], 1, device=tokens.device) > 0" in text
    assert re.search(r"is_nonzero +cuda:0 -> cpu .* zoo\.py:22", text)
    assert "made by the factory" in there.stderr and "made by" not in text.split("Mixed")[0]
    assert text.rstrip().endswith("not verified: 1 error, 3 warnings")


def test_a_number_of_virtual_devices(verify) -> None:
    run = verify(
        "zoo:fine", "--input", "zoo:x", "--eval", "--device", "cuda:1", "--devices", "cuda:2",
        "--memory", "1GiB", "--profile", "t4", "--json",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert result["device"] == "cuda:1" and result["ok"]
    assert "1.00 GiB" in result["checklist"][4]["seen"]
    xpu = verify("zoo:fine", "--input", "zoo:x", "--eval", "--device", "xpu", "--devices", "xpu:1")
    assert xpu.returncode == 0 and "Fine on xpu:0" in xpu.stdout, xpu.stderr


@pytest.mark.parametrize("kind", _device_kinds.kinds(), ids=lambda kind: kind.name)
def test_virtual_devices_are_the_default_where_there_are_no_real_ones(
    kind: _device_kinds.DeviceKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_device_kinds, "may_exist", lambda _: False)
    assert command._default_devices(kind.name) == (f"{kind.name}:1" if kind.several else kind.name)
    if kind.several:
        assert command._default_devices(f"{kind.name}:2") == f"{kind.name}:3"
    monkeypatch.setattr(_device_kinds, "may_exist", lambda _: True)
    assert command._default_devices(kind.name) is None
    assert command._default_devices("cpu") is None


@pytest.mark.parametrize(
    "words, code",
    [
        (["zoo:fine", "--input", "zoo:keywords", "--eval"], 0),
        (["zoo.py:fine", "--input", "zoo.py:x", "--eval"], 0),
        (["zoo:Fine", "--input", "zoo:x", "--call", "zoo:step", "--train"], 0),
        (["zoo:fine", "--input", "zoo:x"], 1),  # gradients are on
        (["zoo:fine", "--input", "zoo:x", "--fail-on", "error", "--libraries"], 0),
        (["zoo:fine", "--input", "zoo:loader", "--device", "cpu", "--eval"], 0),
        (["zoo:fine", "--input", "zoo:x", "--eval", "--no-every-line", "--finite"], 0),
    ],
)
def test_ways_to_say_what_to_run(verify, words, code) -> None:
    run = verify(*words)
    assert run.returncode == code, run.stdout + run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    "words, text",
    [
        (["zoo"], "'zoo' is not MODULE:NAME"),
        (["zoo:missing"], "zoo has no 'missing'"),
        (["nowhere:model"], "no module 'nowhere'"),
        (["nowhere.py:model"], "there is no file nowhere.py"),
        (["zoo:fine", "--device", "toaster"], '"toaster" is not a device'),
        (["zoo:fine", "--device", "cuda:3", "--devices", "cuda:2"], "cuda:3"),
        (
            ["zoo:fine", "--devices", "tpu:1"],
            "there are no virtual devices 'tpu:1'; use cuda:N",
        ),
        (["zoo:fine", "--memory", "1GiB"], "--memory and --profile need virtual devices"),
        (["zoo:fine", "--eval", "--train"], "cannot be used together"),
        (["zoo:fine", "--fail-on", "note"], "invalid choice: 'note'"),
        (
            ["zoo:fine", "--input", "zoo:x", "--eval", "--html", "/nowhere/x.html"],
            "cannot be written",
        ),
        ([], "MODULE:FACTORY"),
    ],
)
def test_wrong_use_is_said_in_a_line(verify, words, text) -> None:
    run = verify(*words)
    assert run.returncode == 2, run.stdout + run.stderr
    assert text in run.stderr and "Traceback" not in run.stderr
    assert run.stdout == ""


@pytest.mark.parametrize(
    "words, text",
    [
        (["zoo:broken"], "OSError: no such weights"),
        (["zoo:raises", "--input", "zoo:x"], "ValueError: wrong in forward"),
        (["zoo:no_model"], "verify needs an nn.Module, not int"),
        (["zoo:fine"], "missing 1 required positional argument: 'x'"),
    ],
)
def test_what_the_program_raises(verify, words, text) -> None:
    run = verify(*words)
    assert run.returncode == 1, run.stderr
    assert run.stderr.rstrip().endswith(text) or text in run.stderr.splitlines()[-1]
    assert "torchport/observe/" not in run.stderr, "none of our frames"


def test_interrupts_and_exits(verify) -> None:
    run = verify("zoo:interrupted", "--input", "zoo:x")
    assert run.returncode == 130 and run.stderr == ""
    assert verify("zoo:exits").returncode == 7


def test_a_reader_that_has_seen_enough() -> None:
    command = f"{sys.executable} -m torchport.observe.command zoo:fine --input zoo:x --json --eval"
    run = subprocess.run(
        ["bash", "-c", f"{command} | true; exit ${{PIPESTATUS[0]}}"],
        cwd=Path(__file__).parent / "programs",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


KEYS = {
    "schema", "ok", "model", "device", "purpose", "torch", "devices", "autocast", "operators",
    "unrecorded", "modules", "inputs", "outputs", "intermediates", "flows", "transfers", "mixed",
    "not_finite", "checklist", "findings", "fail_on",
}  # fmt: skip


def test_json_is_all_of_standard_output(verify) -> None:
    run = verify("zoo:masked", "--input", "zoo:tokens", "--device", "cuda", "--json")
    result = json.loads(run.stdout)
    assert result.keys() == KEYS and result["schema"] == 1
    documented = (Path(__file__).parents[2] / "docs/verify.md").read_text()
    for key in KEYS | result["mixed"].keys() | result["modules"][0].keys():
        assert f"`{key}`" in documented, key
    assert result["mixed"]["culprit"]["made"]["line"]["text"].startswith("mask = torch.ones")


PROBE = """
const seen = s => [...document.querySelectorAll(s)];
const box = name => document.querySelector(`.box[data-module="${name}"]`);
return {
  scripts: document.scripts.length,
  outside: seen("[src],link[href],image").length,
  boxes: seen(".box").map(b => b.dataset.module),
  wrong: seen(".box.wrong").map(b => b.dataset.module),
  moves: seen(".move").map(m => [m.classList[1], m.closest(".box").dataset.module, m.innerText.replace(/\\s+/g, " ").trim()]),
  colors: new Set(seen(".move path").map(p => window.getComputedStyle(p).stroke)).size,
  arrows: seen(".move svg path").length,
  nested: box("blocks.0").contains(box("blocks.0.1")) && box("").contains(box("head")),
  findings: seen("#findings tbody tr").length,
  answers: seen("#checklist tbody tr").length,
};"""


@needs_chromium
def test_the_page_in_a_browser(verify, tmp_path) -> None:
    page = tmp_path / "verify.html"
    run = verify(
        "zoo:masked", "--input", "zoo:tokens", "--device", "cuda", "--html", page, "--json"
    )
    assert run.returncode == 1, run.stderr
    result = json.loads(run.stdout)
    assert [p.name for p in tmp_path.iterdir()] == ["verify.html"], "nothing half-written"
    text = page.read_text()
    assert "default-src 'none'" in text, "the page forbids scripts and requests"
    views = look({"page": text}, tmp_path, {"page": PROBE})
    seen = views["page", 1280]["probe"]
    assert seen["scripts"] == 0, "source code must not become markup"
    assert seen["outside"] == 0, "the page needs nothing but itself"
    # The model and its eleven modules; the list of blocks never runs by itself.
    assert len(seen["boxes"]) == len(set(seen["boxes"])) == 12
    assert seen["wrong"] == [""] and seen["nested"]
    moves = {style: (module, words) for style, module, words in seen["moves"]}
    assert sorted(moves) == ["mixed", "read", "to-device", "to-host"]
    assert {module for module, _ in moves.values()} == {""}
    assert moves["to-host"][1] == "cuda:0 cpu 1x, 320 B zoo.py:23"
    assert moves["read"][1] == "cuda:0 cpu 1x zoo.py:22"
    assert "mixed devices: mask on cpu" in moves["mixed"][1]
    assert seen["arrows"] == 4
    assert seen["colors"] == 3, "reads have the colour of moves to the host, and are dashed"
    assert seen["findings"] == len(result["findings"]) and seen["answers"] == 5
