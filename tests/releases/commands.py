"""Every command once, in an environment with a release of torch: run.py starts it there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"


class Commands:
    """Runs commands in a folder with the programs."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.env = {
            k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TORCHPORT_VIRTUAL")
        }
        self.env["TORCHPORT_CACHE_DIR"] = str(folder.parent / "cache")

    def python(self, *words: object, code: int = 0) -> str:
        return self._run(sys.executable, *words, code=code)

    def __call__(self, *words: object, code: int = 0) -> str:
        return self._run(Path(sys.executable).parent / "torchport", *words, code=code)

    def _run(self, *words: object, code: int) -> str:
        done = subprocess.run(
            [str(word) for word in words], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        assert done.returncode == code, f"{words}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout


@pytest.fixture
def torchport(tmp_path: Path) -> Commands:
    folder = tmp_path / "project"
    shutil.copytree(PROGRAMS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return Commands(folder)


def test_the_installation_is_sound(torchport):
    output = torchport("doctor", "--self")
    assert "computes" in output and "!!" not in output
    version = torchport.python(
        "-c", "import torch; print(torch.__version__.partition('+')[0])"
    ).strip()
    # It is the wheel that is installed, not the checkout. Libraries may serve several patch releases.
    minor = re.escape(version.rpartition(".")[0])
    assert re.search(rf"site-packages/torchport/lib/torch-{minor}\.\d+, because", output)


def test_the_source_tool(torchport):
    found = json.loads(torchport("check", "--format", "json", "legacy.py", code=1))
    assert len(found["findings"]) >= 2
    assert ".cuda()" in torchport("fix", "--diff", "legacy.py")
    torchport("fix", "legacy.py")
    assert ".cuda()" not in (torchport.folder / "legacy.py").read_text()
    assert torchport("explain", "TP101") and torchport("rules")


def test_what_is_asked_of_a_project(torchport):
    (torchport.folder / "requirements.txt").write_text("torch\n")
    torchport.python("-c", "import net, torch; torch.save(net.make().state_dict(), 'net.pt')")
    assert "first.weight" in torchport("inspect", "net.pt")
    torchport("container", ".", "--device", "cpu", "--entry", "train.py")
    assert "FROM" in (torchport.folder / "Dockerfile").read_text()
    torchport("ci", ".")
    assert list((torchport.folder / ".github/workflows").glob("*.yml"))
    assert torchport("build-plan")
    json.loads(torchport("doctor", "--json"))


def test_a_cuda_program_runs_and_its_port_is_the_same_program(torchport):
    shutil.copy(torchport.folder / "legacy.py", torchport.folder / "ported.py")
    torchport("fix", "ported.py")
    losses = torchport("run", "-q", "legacy.py")
    assert losses.count("loss ") == 3
    assert torchport.python("ported.py") == losses
    proof = torchport(
        "prove", "--devices", "cuda:1", "--elsewhere", "none,mps", "legacy.py", "ported.py"
    )
    assert "same program, same results elsewhere" in proof


@pytest.mark.parametrize("devices", ["cuda:1", "mps", "xpu:1", "npu:1"])
def test_training_has_the_losses_of_the_cpu(torchport, devices):
    torchport.env["OMP_NUM_THREADS"] = "1"
    expected = torchport.python("train.py", "cpu")
    assert expected.count("\n") == 20
    device = devices.partition(":")[0]
    assert torchport("run", "-q", "--devices", devices, "train.py", device) == expected


def test_a_model_is_verified(torchport):
    result = json.loads(
        torchport(
            "verify",
            "net.py:make",
            "--input",
            "net.py:sample",
            "--device",
            "cuda",
            "--eval",
            "--json",
        )
    )
    assert result["ok"] and result["operators"] > 3


@pytest.mark.parametrize("to", ["onnx", "aoti", "torchscript", "pt2"])
def test_a_model_is_exported_and_served(torchport, to):
    torchport("export", "net.py:make", "--input", "net.py:sample", "--to", to, "-o", "net.out")
    if to == "pt2":
        return
    torchport.python("-c", "import net, numpy; numpy.save('x.npy', net.sample().numpy())")
    torchport("infer", "-q", "net.out", "x.npy", "-o", "y.npy")
    torchport.python(
        "-c",
        "import net, numpy, torch; y = torch.from_numpy(numpy.load('y.npy')); "
        "torch.testing.assert_close(y, net.make().eval()(net.sample()).detach(), rtol=1e-4, atol=1e-5)",
    )


def test_a_model_is_measured(torchport):
    words = ["--modes", "eval,inference", "--rounds", 1, "--seconds", 0.05, "--json", "-"]
    output = torchport("bench", "net.py:make", "--input", "net.py:sample", *words)
    assert len(json.loads(output[output.index("{") :])["rows"]) == 2


def test_the_pytest_plugin(torchport):
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--torchport-devices", "cuda:2"]
    assert "1 passed" in torchport.python(*words, "devices.py")


def test_checkpoints_and_devices_of_the_library(torchport):
    code = """
import net, torch, torchport
model = net.make()
torchport.save({"model": model.state_dict()}, "all.pt")
loaded = torchport.load("all.pt")
assert torch.equal(loaded["model"]["first.weight"].cpu(), model.first.weight.detach())
assert torchport.device().type == "cpu"
assert torchport.to({"x": [torch.ones(2)]}, "cpu")["x"][0].sum() == 2
"""
    torchport.python("-c", code)
