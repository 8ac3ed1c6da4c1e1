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


FLAGS = "import torch\n\nHAS = torch.cuda.is_available()\nWANTED = HAS and True\nDEBUG = bool(1)\n"


@pytest.mark.parametrize(
    ("imports", "flag", "found"),
    [
        ("from flags import HAS", "HAS", False),
        ("from .flags import WANTED", "WANTED and x", False),
        ("import flags", "flags.HAS", False),
        ("from flags import DEBUG", "DEBUG", True),
        ("from flags import HAS", "not HAS", True),
        ("from flags import HAS", "HAS or x", True),
    ],
)
def test_flags_of_other_files(torchport, project, imports, flag, found):
    torchport.write("flags.py", FLAGS)
    torchport.write(
        "gpu.py", f"import torch\n{imports}\n\n\ndef work(x):\n    if {flag}:\n        x.cuda()\n"
    )
    expected = ["TP101"] if found else []
    assert codes(torchport, ".") == expected
    assert codes(torchport, ".") == expected, "with a cache"
    assert codes(torchport, "gpu.py") == expected, "one file only"


def test_a_flag_that_leaves_early(torchport, project):
    torchport.write("flags.py", FLAGS)
    text = "from flags import HAS\n\n\ndef work(x):\n    if not HAS:\n        return x\n    return x.cuda()\n"
    torchport.write("gpu.py", text)
    assert codes(torchport, ".") == []


BASE = (
    "import torch\n\n\nclass Base:\n    def __init__(self, args):\n"
    "        self.on = torch.cuda.is_available() and not args.no\n\n"
    "    def run(self, x):\n        if torch.cuda.is_available():\n            self.move(x)\n\n"
    "    def move(self, x):\n        raise NotImplementedError\n"
)
DERIVED = (
    "from .base import Base\nimport torch\n\n\nclass Derived(Base):\n"
    "    def move(self, x):\n        return x.cuda()\n\n"
    "    def other(self, x):\n        return x.cuda() if self.on else x\n"
)


def test_a_base_class_checks_for_its_derived_classes(torchport, project):
    torchport.write("gpu.py", "import torch\n")
    torchport.write("base.py", BASE)
    torchport.write("derived.py", DERIVED)
    assert codes(torchport, ".") == []
    torchport.write("derived.py", DERIVED.replace("(Base)", "(object)"))
    assert codes(torchport, ".") == ["TP101", "TP101"]
    torchport.write("derived.py", DERIVED + "\n\ndef f(d: Derived, x):\n    d.move(x)\n")
    assert codes(torchport, ".") == ["TP101"]


def test_a_default_that_the_calls_of_other_files_set(torchport, project):
    torchport.write(
        "gpu.py", "import torch\n\n\ndef work(x, cuda=True):\n    return x.cuda() if cuda else x\n"
    )
    assert codes(torchport, ".") == ["TP101"]
    torchport.write("main.py", "from gpu import work\nimport torch\n\nwork(torch.ones(2))\n")
    assert codes(torchport, ".") == ["TP101"]
    torchport.write("main.py", "from gpu import work\nimport torch\n\nwork(torch.ones(2), ON)\n")
    assert codes(torchport, ".") == []
