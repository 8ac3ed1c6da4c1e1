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


def test_a_change_of_a_file_without_torch_is_seen_with_a_cache(torchport, project):
    (project / "main.py").write_text(GUARDED)
    for i in range(80):  # more than there are groups of such files
        (project / f"plain_{i}.py").write_text(f"print({i})\n")
    for text, found in [("print(2)", []), ("gpu.work(2)", ["TP101"]), ("print(3)", [])]:
        for name in ("plain_7.py", "new.py"):
            (project / name).write_text(text + "\n")
            assert codes(torchport, ".") == codes(torchport, "--no-cache", ".")
        assert codes(torchport, ".") == found
    # The name that matters is another one now.
    (project / "gpu.py").write_text(GPU.replace("work", "run"))
    (project / "main.py").write_text(GUARDED.replace("work", "run"))
    assert codes(torchport, ".") == []
    (project / "plain_8.py").write_text("gpu.run(2)\n")
    assert codes(torchport, ".") == ["TP101"]


def test_facts_of_a_file_that_is_not_python_are_kept(torchport, project):
    (project / "Dockerfile").write_text("FROM nvidia/cuda:12.0\nRUN pip install torch\n")
    (project / "setup.cfg").write_text("[options]\ninstall_requires = torch\n")
    first = torchport("check", "--format", "json", ".").stdout
    assert torchport("check", "--format", "json", ".").stdout == first
    assert torchport("check", "--format", "json", "--no-cache", ".").stdout == first


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


REFUSES = (
    "def check(x):\n    if not x.is_cuda:\n        raise ValueError('not on CUDA')\n\n\n"
    "def measure(x, name=None):\n    check(x)\n    return 1\n"
)


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("    check(x)\n    work(x)\n", False),
        ("    n = measure(x)\n    if n:\n        work(x)\n", False),
        ("    work(x)\n    check(x)\n", True),
        ("    if x:\n        check(x)\n    work(x)\n", True),
        ("    check(work(x))\n", True),
    ],
)
def test_a_helper_that_refuses_what_is_not_on_cuda(torchport, project, lines, found):
    torchport.write("refuse.py", REFUSES)
    head = "import torch\nfrom gpu import work\nfrom refuse import check, measure\n\n\n"
    torchport.write("main.py", head + f"def run(x):\n{lines}")
    expected = ["TP101"] if found else []
    assert codes(torchport, ".") == expected
    assert codes(torchport, ".") == expected, "with a cache"
    torchport.write("gpu.py", "import torch\n")
    torchport.write(
        "main.py",
        head.replace("from gpu import work\n", "")
        + f"def run(x):\n{lines}".replace("work(x)", "x.cuda()"),
    )
    assert codes(torchport, ".") == expected, "the line itself"


def test_a_demand_in_a_helper_is_no_refusal(torchport, project):
    torchport.write(
        "refuse.py",
        "import torch\n\n\ndef check(x):\n    assert torch.cuda.is_available()\n",
    )
    torchport.write(
        "main.py",
        "from gpu import work\nfrom refuse import check\n\n\ndef run(x):\n    check(x)\n    work(x)\n",
    )
    assert "TP101" in codes(torchport, ".")


PICK = (
    "import torch\n\n\ndef is_device_available(kind):\n    return kind in torch.__dict__\n\n\n"
    "def pick(device):\n    known = is_device_available(device)\n"
    "    if not is_device_available(device):\n        device = 'cpu'\n    return torch.device(device)\n\n\n"
    "def choose(device):\n    return pick(device)\n\n\n"
    "def keep(device):\n    return torch.device(device)\n"
)


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            "def run(device='cuda'):\n    device = pick(device)\n    return torch.ones(2, device=device)\n",
            [],
        ),
        (
            "def run(device='cuda'):\n    device = choose(device)\n    return torch.ones(2, device=device)\n",
            [],
        ),
        (
            "def run(device='cuda'):\n    device = keep(device)\n    return torch.ones(2, device=device)\n",
            ["TP103"],
        ),
        (
            "def run(device='cuda'):\n    x = torch.ones(2, device=device)\n    return pick(device), x\n",
            ["TP103"],
        ),
        ("def run(args):\n    return pick(device=getattr(args, 'device', 'cuda'))\n", []),
        ("def run(args):\n    return keep(device=getattr(args, 'device', 'cuda'))\n", ["TP103"]),
        ("def run():\n    return pick(device='cuda')\n", []),
        ("def run():\n    return keep(device='cuda')\n", ["TP102"]),
    ],
)
def test_a_helper_that_falls_back_to_the_cpu(torchport, project, lines, found):
    torchport.write("gpu.py", "import torch\n")
    torchport.write("devices.py", PICK)
    torchport.write("main.py", f"import torch\nfrom devices import choose, keep, pick\n\n\n{lines}")
    assert codes(torchport, ".") == found
    assert codes(torchport, "main.py") == found, "one file only"


SAVER = (
    "import torch\n\n\nclass Saver:\n    def put(self, state, folder):\n        torch.save(state, folder / 'a.pt')\n\n\n"
    "def convert(state, folder):\n    Saver().put(state, folder)\n\n\n"
    "def write(state, folder):\n    torch.save(state, folder / 'a.pt')\n\n\n"
    "def prepare(state, folder):\n    write(state, folder)\n    return folder\n\n\n"
    "def look(folder):\n    return list(folder.iterdir())\n"
)


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("    write(state, folder)\n    return torch.load(folder / 'a.pt')\n", False),
        (
            "    prepare(state, folder=folder)\n    path = folder / 'a.pt'\n    return torch.load(path)\n",
            False,
        ),
        ("    path = prepare(state, 'x')\n    return torch.load(path)\n", False),
        (
            "    saver = Saver()\n    saver.put(state, folder)\n    return torch.load(folder / 'a.pt')\n",
            False,
        ),
        ("    look(folder)\n    return torch.load(folder / 'a.pt')\n", True),
        ("    write(state, other)\n    return torch.load(folder / 'a.pt')\n", True),
        ("    x = torch.load(folder / 'a.pt')\n    write(state, folder)\n    return x\n", True),
    ],
)
def test_a_file_that_another_file_of_the_project_writes(torchport, project, lines, found):
    torchport.write("saver.py", SAVER)
    torchport.write("gpu.py", "import torch\n")
    torchport.write(
        "main.py",
        "import torch\nfrom saver import Saver, look, prepare, write\n\n\n"
        f"def run(state, folder, other):\n{lines}",
    )
    assert codes(torchport, "--select", "TP301", ".") == (["TP301"] if found else [])


BUILDERS = (
    "from torch import nn\n\n\ndef ready(n):\n    model = nn.Sequential(nn.Dropout(), nn.Linear(n, n))\n"
    "    model.eval()\n    return model\n\n\n"
    "def fresh(n):\n    model = nn.Sequential(nn.Dropout(), nn.Linear(n, n))\n    return model\n\n\n"
    "def settle(model):\n    model.eval()\n\n\ndef again(n):\n    return ready(n)\n"
)


@pytest.mark.parametrize(
    ("maker", "before", "found"),
    [
        ("ready", "", False),
        ("again", "", False),
        ("fresh", "", True),
        ("fresh", "settle(model)\n", False),
    ],
)
def test_eval_in_a_function_of_another_file(torchport, project, maker, before, found):
    torchport.write("builders.py", BUILDERS)
    torchport.write("gpu.py", "import torch\n")
    torchport.write(
        "main.py",
        f"import torch\nfrom builders import {maker}, settle\n\nmodel = {maker}(2)\n"
        f"model.load_state_dict(torch.load('a.pt', map_location='cpu'))\n{before}print(model(torch.ones(2)))\n",
    )
    assert codes(torchport, "--select", "TP501,TP601", ".") == (["TP501"] if found else [])
    torchport.write(
        "main.py",
        f"import torch\nfrom builders import {maker}, settle\n\nmodel = {maker}(2)\n"
        f"{before}torch.jit.trace(model, torch.ones(2))\n",
    )
    assert codes(torchport, "--select", "TP501,TP601", ".") == (["TP601"] if found else [])


def test_no_device_is_asked_for_before_the_program_chooses(torchport, project) -> None:
    torchport.write("layers.py", "import torch\n\nx = torch.ones(1).cuda()\n")
    torchport.write("gpu.py", "import torch\n")
    chooser = (
        "import argparse\nimport os\n\nimport layers\n\n\ndef main(gpus):\n"
        '    os.environ["CUDA_VISIBLE_DEVICES"] = gpus\n'
    )
    for text, tier in ((chooser, "unsafe"), ("import layers\n", "safe")):
        torchport.write("main.py", text)
        for _ in range(2):  # the second answer comes from the cache
            run = torchport("check", "--select", "TP101", "--format", "json", ".")
            [finding] = json.loads(run.stdout)["findings"]
            assert finding["fix"]["applicability"] == tier
        run = torchport("fix", "--diff", "--select", "TP101", ".")
        assert ("DEVICE" in run.stdout) == (tier == "safe")


def test_what_chooses_devices_counts_for_its_own_program_only(torchport, project) -> None:
    torchport.write("layers.py", "import torch\n\nx = torch.ones(1).cuda()\n")
    torchport.write("gpu.py", "import torch\n")
    torchport.write(
        "tools/bench.py",
        'import os\n\n\ndef main(n):\n    os.environ["CUDA_VISIBLE_DEVICES"] = n\n',
    )

    def tier() -> str:
        run = torchport("check", "--select", "TP101", "--format", "json", ".")
        [finding] = json.loads(run.stdout)["findings"]
        return finding["fix"]["applicability"]

    assert tier() == "safe"
    # A file without a word about devices brings both into one program.
    torchport.write("start.py", "from tools import bench\nimport layers\n\nbench.main('1')\n")
    assert tier() == tier() == "unsafe"
