"""`torchport export`: exit codes, what it prints, what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

LITTLE_ROOM = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))  # a disk with room for so many bytes
from torchport.deploy.artefact.command import main
sys.exit(main())
"""


def test_a_report_says_what_was_done(export, tmp_path):
    done = export(
        "models:net", "--input", "models:picture", "--to", "onnx", "-o", "net.onnx",
        "--dynamic", "batch", "--opset", 18,
    )  # fmt: skip
    for line in (
        "input    x: float32 [batch, 3, 16, 16]",
        "output   logits: float32 [batch, 10]",
        "axis     batch 1..",
        "note     registered the attribute shift as a buffer",
        "returns  2 by name: logits, parts_0 (the model: dict(logits: tensor, parts: tuple(",
        "parity   14 batches in ONNX Runtime",
        "         sample, other values, negated, small, large, zero, constant, extreme, permuted, "
        "batch=1, batch=3, batch=5",
        "host     device any",
        "written  net.onnx (onnx opset 18",
    ):
        assert line in done.stdout, done.stdout
    assert "capturing the graph" in done.stderr
    assert os.listdir(tmp_path) == ["net.onnx"]


def test_models_are_found_in_files_and_in_folders(export, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import torch\nclass Made:\n  @staticmethod\n  def small(): return torch.nn.Linear(6, 2)\n"
    )
    for place in ("mine:Made.small", "mine.py:Made.small"):
        export(place, "--input", "models:rows", "--to", "pt2", "-o", "small.pt2", "-q")


@pytest.mark.parametrize(
    "words, code, told",
    [
        (["models:absent", "--input", "models:rows"], 2, "models has no 'absent'; it has"),
        pytest.param(["nowhere:make", "--input", "models:rows"], 2, "no module 'nowhere'", marks=pytest.mark.long),
        pytest.param(["models", "--input", "models:rows"], 2, "not MODULE:NAME", marks=pytest.mark.long),
        (["models:plain"], 2, "--input"),
        pytest.param(["models:plain", "--input", "models:rows", "--dtype", "int8"], 2, "--dtype", marks=pytest.mark.long),
        (["models:raising", "--input", "models:rows"], 1, "RuntimeError: no data set here"),
        (["models:plain", "--input", "models:nothing"], 1, "has no elements"),
        pytest.param(["models:plain", "--input", "models:picture"], 1, "the model itself fails", marks=pytest.mark.long),
        (["models:plain", "--input", "models:rows", "--weights", "no.pth"], 1, "no.pth"),
        (["models:plain", "--input", "models:rows", "--device", "cuda:7"], 1, "cuda"),
        pytest.param(["models:plain", "--input", "models:rows", "--device", "gpu"], 1, "gpu", marks=pytest.mark.long),
    ],
)  # fmt: skip
def test_exit_codes(words, code, told, export, tmp_path):
    done = export(*words, "--to", "pt2", "-o", "out.pt2", check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert told in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert os.listdir(tmp_path) == []


def test_ctrl_c_in_the_start_of_a_compiled_module_ends_it(monkeypatch, capsys):
    from torchport.deploy.artefact.command import main

    def run(_options):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise ImportError("initialization failed") from interrupt

    monkeypatch.setattr("torchport.deploy.artefact.command._run", run)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert main(["models:net", "--input", "models:rows", "--to", "onnx", "-o", "a.onnx"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_an_exception_of_any_class_is_one_of_the_program(monkeypatch, capsys):
    from torchport.deploy.artefact.command import main

    def run(_options):
        raise GeneratorExit

    monkeypatch.setattr("torchport.deploy.artefact.command._run", run)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert main(["models:net", "--input", "models:rows", "--to", "onnx", "-o", "a.onnx"]) == 1
    told = capsys.readouterr().err
    assert "GeneratorExit" in told and "Traceback" not in told


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("capturing", signal.SIGINT),
        ("capturing", signal.SIGTERM),
        ("writing", signal.SIGTERM),
        pytest.param("writing", signal.SIGINT, marks=pytest.mark.long),
        pytest.param("comparing", signal.SIGINT, marks=pytest.mark.long),
        pytest.param("comparing", signal.SIGTERM, marks=pytest.mark.long),
    ],
)
def test_a_signal_leaves_what_was_there(moment, number, start, tmp_path):
    (tmp_path / "slow.onnx").write_text("what was there")
    process = start(
        "export", "models:slow", "--input", "models:rows", "--to", "onnx", "-o", "slow.onnx"
    )
    seen = b""
    while moment.encode() not in seen:
        line = process.stderr.readline()
        assert line, seen.decode()
        seen += line
    process.send_signal(number)
    out, told = process.communicate(timeout=120)
    assert process.returncode == 130, told.decode()
    assert out == b"" and b"Traceback" not in told, told.decode()
    assert os.listdir(tmp_path) == ["slow.onnx"]
    assert (tmp_path / "slow.onnx").read_text() == "what was there"


@pytest.mark.parametrize("to", ["onnx", "pt2", "torchscript"])
def test_a_disk_that_fills_up_leaves_what_was_there(to, python, tmp_path):
    Path(tmp_path, "net").write_text("what was there")
    done = python(
        LITTLE_ROOM, "models:net", "--input", "models:picture", "--to", to, "-o", "net", "-q",
        check=False,
    )  # fmt: skip
    assert done.returncode == 1 and "cannot write" in done.stderr, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == ["net"]
    assert Path(tmp_path, "net").read_text() == "what was there"


def test_weights_of_a_wrapped_model_come_through_to_infer(export, infer, python, tmp_path):
    """From a DataParallel checkpoint to the answers of torchport-infer."""
    program = (
        "import models, torch, numpy as np\n"
        "m = models.Plain()\n"
        "torch.save({'model': torch.nn.DataParallel(m).state_dict()}, 'trained.pth')\n"
        "np.save('rows.npy', models.rows().numpy())\n"
        "np.save('wanted.npy', m(models.rows()).detach().numpy())\n"
    )
    python(program)
    export(
        "models:plain", "--input", "models:rows", "--to", "onnx", "-o", "m.onnx",
        "--weights", "trained.pth", "--dynamic", "batch",
    )  # fmt: skip
    infer("m.onnx", "rows.npy", "-o", "out.safetensors")
    got = load_file(tmp_path / "out.safetensors")["output"]
    np.testing.assert_allclose(got, np.load(tmp_path / "wanted.npy"), rtol=1e-5, atol=1e-6)
    contract = json.loads(infer("m.onnx", "--contract").stdout)
    assert contract["model"] == "Plain" and len(contract["weights"]["sha256"]) == 64
