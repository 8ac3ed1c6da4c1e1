"""`check` counts as fixable what `fix` fixes, also where another file says whether a fix is right."""

from __future__ import annotations

import json
import re

import pytest

# What another file says against a fix of `train.py`: that one, the other file, and how many of its
# fixes are safe and unsafe alone and beside it.
PROJECTS = {
    "a class with a move of its own": (
        "from model import Net\n\nnet = Net().cuda()\nprint(net)\n",
        "import torch\n\n\nclass Net(torch.nn.Module):\n    def cuda(self, device=None):\n"
        "        print('moving')\n        return super().cuda(device)\n",
        {"safe": 1},
        {},
    ),
    "float64 in a file that shares tensors": (
        "import torch\nfrom model import solve\n\n"
        "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
        "print(solve(torch.ones(3, device=device)))\n",
        "import torch\n\n\ndef solve(x):\n    return torch.linalg.inv(x.double().diag())\n",
        {"unsafe": 1},
        {},
    ),
    "code that is compiled": (
        "import torch\n\n\ndef fill(n):\n    return torch.zeros(3, device='cuda')\n",
        "import torch\nimport train\n\nfill = torch.jit.script(train.fill)\n",
        {"safe": 1},
        {"unsafe": 1},
    ),
    "devices that are chosen late": (
        "import torch\n\nx = torch.zeros(3, device='cuda')\n",
        "import os\n\n\ndef main(gpu):\n    os.environ['CUDA_VISIBLE_DEVICES'] = gpu\n"
        "    import train\n    print(train.x)\n\n\nmain('0')\n",
        {"safe": 1},
        {"unsafe": 1},
    ),
    "keys that are known": (
        "import torch\nfrom torch import nn\n\nnet = nn.DataParallel(nn.Linear(2, 2))\n"
        "print(net(torch.ones(1, 2)))\n",
        "import torch\n\n\ndef load(path):\n    state = torch.load(path, map_location='cpu')\n"
        "    return {key.replace('module.', ''): value for key, value in state.items()}\n",
        {"unsafe": 1},
        {},
    ),
}


def counts_of_check(torchport) -> dict[str, int]:
    counts: dict[str, int] = {}
    for finding in json.loads(torchport("check", "--format", "json", "train.py").stdout)[
        "findings"
    ]:
        kind = finding["fix"]["applicability"] if finding["fix"] else "display"
        if kind != "display":
            counts[kind] = counts.get(kind, 0) + 1
    return counts


def number_fixed(torchport, *words: str) -> int:
    match = re.search(r"Would fix (\d+)", torchport("fix", "--diff", *words, "train.py").stderr)
    return int(match[1]) if match else 0


@pytest.mark.parametrize("name", PROJECTS)
def test_check_counts_what_fix_fixes(torchport, name: str) -> None:
    train, other, alone, beside = PROJECTS[name]
    torchport.write("train.py", train)
    for wanted in (alone, beside):
        for _ in ("first", "from the cache"):
            assert counts_of_check(torchport) == wanted
        assert number_fixed(torchport) == wanted.get("safe", 0)
        assert number_fixed(torchport, "--unsafe-fixes") == sum(wanted.values())
        torchport.write("model.py", other)
