"""Findings that depend on who calls a function, in the same file or in others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

GPU = "import torch\n\n\ndef work(x):\n    return x.cuda()\n"
GUARDED = (
    "import torch\nfrom gpu import work\n\nif torch.cuda.is_available():\n    work(torch.ones(2))\n"
)
BARE = "import gpu\n\n\ndef run(torch_module):\n    return gpu.work(torch_module.ones(2))\n"


@pytest.fixture
def project(torchport) -> Path:
    torchport.write("pyproject.toml", "[project]\nname = 'p'\nversion = '1'\n")
    torchport.write("gpu.py", GPU)
    return torchport.folder


def codes(torchport, *words: str) -> list[str]:
    done = torchport("check", "--format", "json", *words)
    return [finding["code"] for finding in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize("words", [["."], ["gpu.py"], ["./gpu.py"], ["--no-cache", "gpu.py"]])
def test_all_callers_check_for_cuda(torchport, project, words):
    assert codes(torchport, *words) == ["TP101"]
    (project / "main.py").write_text(GUARDED)
    assert codes(torchport, *words) == []
    (project / "bare.py").write_text(BARE)
    assert codes(torchport, *words) == ["TP101"]


def test_a_caller_that_does_not_mention_torch_counts(torchport, project):
    (project / "main.py").write_text(GUARDED)
    (project / "cli.py").write_text("import gpu\n\nprint(gpu.work(open('x')))\n")
    assert codes(torchport, ".") == ["TP101"]
    assert codes(torchport, "gpu.py") == ["TP101"]
    (project / "cli.py").write_text("import gpu\n\nprint(gpu.other(open('x')))\n")
    assert codes(torchport, ".") == []


def test_a_change_of_the_caller_is_seen_with_a_cache(torchport, project):
    (project / "main.py").write_text(GUARDED)
    assert codes(torchport, ".") == []
    (project / "main.py").write_text(GUARDED.replace("if torch.cuda.is_available():", "if True:"))
    assert codes(torchport, ".") == ["TP101"]


def test_fix_leaves_what_the_callers_make_void(torchport, project):
    (project / "main.py").write_text(GUARDED)
    torchport("fix", "--unsafe-fixes", ".")
    assert (project / "gpu.py").read_text() == GPU
    (project / "bare.py").write_text(BARE)
    torchport("fix", "--unsafe-fixes", ".")
    assert ".cuda()" not in (project / "gpu.py").read_text()


def test_callers_that_pass_what_is_on_the_cpu(torchport, project):
    (project / "pad.py").write_text(
        "import torch\n\n\ndef pad(x: torch.Tensor):\n"
        "    return torch.cat([x, torch.zeros(2, x.shape[1])])\n"
    )
    assert codes(torchport, "pad.py") == ["TP201"]
    (project / "prepare.py").write_text(
        "import torch\nfrom pad import pad\n\n\ndef prepare():\n    return pad(torch.ones(2, 2))\n"
    )
    assert codes(torchport, "pad.py") == []
    (project / "train.py").write_text(
        "from pad import pad\nimport torch\n\n\ndef step(batch, device):\n"
        "    return pad(batch.to(device))\n"
    )
    assert codes(torchport, "pad.py") == ["TP201"]
