"""`torchport check --strict`: what runs only with CUDA."""

from __future__ import annotations

import json


def findings(run) -> list[dict]:
    return json.loads(run.stdout)["findings"]


GUARDED = (
    "import torch\nfrom suite import backend_empty_cache, torch_device\n\n\n"
    "def test_step(use_cuda, x):\n    if use_cuda:\n        x = x.to('cuda')\n"
    "    if torch.cuda.is_available():\n        torch.cuda.empty_cache()\n    return x\n"
)


def test_strict_reports_what_runs_only_with_cuda(torchport) -> None:
    torchport.write("test_a.py", GUARDED)
    torchport.write(
        "gpu.py",
        "import torch\n\n\ndef move(x):\n    return x.cuda()\n",
    )
    torchport.write(
        "main.py",
        "import torch\nfrom gpu import move\n\nif torch.cuda.is_available():\n    move(torch.ones(2))\n",
    )
    assert findings(torchport("check", "--format", "json")) == []
    found = findings(torchport("check", "--strict", "--format", "json"))
    assert [(f["path"], f["line"], f["code"]) for f in found] == [
        ("gpu.py", 5, "TP101"),
        ("main.py", 4, "TP113"),
        ("test_a.py", 7, "TP102"),
        ("test_a.py", 9, "TP109"),
    ]
    assert "lets this run only with CUDA" in found[0]["message"]
    assert "(`use_cuda` in line 6)" in found[2]["message"]
    torchport.write("torchport.toml", "strict = true\n")
    assert findings(torchport("check", "--format", "json")) == found, "the setting"
    torchport("fix", "--unsafe-fixes")
    assert (torchport.folder / "test_a.py").read_text() == GUARDED.replace(
        "'cuda'", "torch_device"
    ).replace("torch.cuda.empty_cache()", "backend_empty_cache(torch_device)")
    assert "x.cuda()" in (torchport.folder / "gpu.py").read_text()


def test_strict_reports_tests_that_are_skipped(torchport) -> None:
    torchport.write(
        "test_a.py",
        "import torch\nimport unittest\n\n\n@unittest.skipUnless(torch.cuda.is_available(), '')\n"
        "class Tests(unittest.TestCase):\n    def test(self):\n        torch.ones(2).cuda()\n",
    )
    assert findings(torchport("check", "--format", "json")) == []
    found = findings(torchport("check", "--strict", "--format", "json"))
    assert [f["code"] for f in found] == ["TP111", "TP101"]
    found = findings(torchport("check", "--select", "TP111", "--format", "json"))
    assert [f["code"] for f in found] == ["TP111"], "by its code, also without --strict"


def test_strict_reports_a_choice_once(torchport) -> None:
    torchport.write(
        "a.py",
        "import torch\n\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n",
    )
    found = findings(torchport("check", "--strict", "--format", "json"))
    assert [f["code"] for f in found] == ["TP106"]
