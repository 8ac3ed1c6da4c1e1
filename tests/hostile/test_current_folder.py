"""Files of the current folder that have the names of Python's own modules are not imported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NAMES = (
    "typing",
    "json",
    "argparse",
    "runpy",
    "numpy",
    "torch",
    "torchport",
    "ray",
    "sitecustomize",
    "enum",
    "importlib",
    "re",
    "os",
    "types",
    "warnings",
    "contextlib",
    "pathlib",
    "subprocess",
)
COMMANDS = (
    "verify --help",
    "export --help",
    "bench --help",
    "bench n.pt2",
    "infer --engine ray n.pt2",
    "infer n.pt2 x.npy",
    "infer n.onnx",
    "runtime list",
    "doctor --self",
    "devices",
    "inspect n.pt2",
    "doctor",
    "plan --help",
    "prove --help",
    "top --help",
    "check -q .",
    "fix -q --diff .",
    "ci --stdout .",
    "container --stdout .",
    "build-plan .",
)


@pytest.fixture
def folder(torchport) -> Path:
    for name in NAMES:
        code = (
            f"open({str(torchport.folder / 'ran')!r}, 'w').write({name!r})\nraise SystemExit(9)\n"
        )
        torchport.write(f"{name}.py", code)
    torchport.write("n.pt2", b"")
    torchport.write("n.onnx", b"x")
    return torchport.folder


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_names_no_module(torchport, folder, command) -> None:
    run = torchport(*command.split())
    assert run.returncode in (0, 1, 2), run
    assert not (folder / "ran").exists(), (folder / "ran").read_text()


def test_a_module_of_the_folder_is_found_where_it_is_named(torchport) -> None:
    torchport.write(
        "own.py",
        "import torch, helper\n\n\ndef model():\n    return helper.model()\n\n\nx = torch.ones(1, 2)\n",
    )
    torchport.write(
        "helper.py", "import torch\n\n\ndef model():\n    return torch.nn.Linear(2, 2)\n"
    )
    run = torchport("verify", "own:model", "--input", "own:x", "--json")
    assert run.returncode in (0, 1), run.stderr  # it advises eval()
    assert json.loads(run.stdout)
    bench = torchport(
        "bench",
        "own:model",
        "--input",
        "own:x",
        "--modes",
        "eager",
        "--rounds",
        "1",
        "--seconds",
        "0.1",
    )
    assert "no module" not in bench.stderr and bench.returncode in (0, 1, 2), bench.stderr
