"""Tensors that meet stay on one device after fixes, on every kind of device: inserted code chooses from no more kinds
than the rest of the program knows."""

from __future__ import annotations

import pytest

LAYER = "net = torch.nn.Linear(2, 2).cuda()\n"
USE = "print(tuple(net(move(torch.ones(1, 2))).shape))\n"
GUARDED = "def move(x):\n    if torch.cuda.is_available():\n        x = x.cuda()\n    return x\n"
CHOICE = (
    "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
    "def move(x):\n    return x.to(device)\n"
)
OPTION = (
    "import argparse\n\np = argparse.ArgumentParser()\np.add_argument('--no_cuda', action='store_true')\n"
    "args = p.parse_args()\nuse = not args.no_cuda and torch.cuda.is_available()\n"
    "place = torch.device('cuda' if use else 'cpu')\ndef move(x):\n    return x.to(place)\n"
)
TYPES = (
    "cuda = torch.cuda.is_available()\nTensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor\n"
    "def move(x):\n    return x.type(Tensor)\n"
)
HALVES = {"guarded": GUARDED, "choice": CHOICE, "option": OPTION, "types": TYPES}
FLOAT64 = (
    "import torch\n\nt = torch.tensor([1, 2], dtype=torch.float64, device='cuda')\n"
    "print(tuple(t.cuda().double().shape))\n"
)
DEVICES = ("none", "cuda:1", "mps", "xpu:1")


def outputs(torchport, name: str, kinds: tuple[str, ...] = DEVICES) -> set[str]:
    runs = [torchport("run", "-q", "--devices", devices, name) for devices in kinds]
    assert [run.returncode for run in runs] == [0] * len(runs), [run.stderr for run in runs]
    return {run.stdout for run in runs}


@pytest.mark.parametrize("fixes", [(), ("--unsafe-fixes",)], ids=["safe", "unsafe"])
@pytest.mark.parametrize("half", HALVES)
def test_halves_of_a_file(torchport, half: str, fixes: tuple[str, ...]) -> None:
    torchport.write("main.py", f"import torch\n\n\n{HALVES[half]}\n\n{LAYER}{USE}")
    torchport("fix", "-q", *fixes)
    assert outputs(torchport, "main.py") == {"(1, 2)\n"}


@pytest.mark.parametrize("fixes", [(), ("--unsafe-fixes",)], ids=["safe", "unsafe"])
@pytest.mark.parametrize("half", HALVES)
def test_halves_in_files_that_import_each_other(torchport, half: str, fixes) -> None:
    torchport.write(
        "main.py", f"import torch\nfrom moving import move\nfrom layers import net\n{USE}"
    )
    torchport.write("moving.py", f"import torch\n\n\n{HALVES[half]}")
    torchport.write("layers.py", f"import torch\n\n{LAYER}")
    torchport("fix", "-q", *fixes)
    assert outputs(torchport, "main.py", ("cuda:1", "mps")) == {"(1, 2)\n"}


@pytest.mark.parametrize("fixes", [(), ("--unsafe-fixes",)], ids=["safe", "unsafe"])
def test_float64_stays_where_it_exists(torchport, fixes: tuple[str, ...]) -> None:
    torchport.write("main.py", FLOAT64)
    torchport("fix", "-q", *fixes)
    assert outputs(torchport, "main.py") == {"(2,)\n"}


def test_a_program_without_another_half_takes_any_device(torchport) -> None:
    torchport.write("main.py", f"import torch\n\n{LAYER}print(tuple(net(torch.ones(1, 2).cuda()).shape))\n"
                    "print(next(net.parameters()).device.type)\n")  # fmt: skip
    torchport.write("other.py", f"import torch\n\n\n{GUARDED}")  # of another program
    torchport("fix", "-q")
    runs = [torchport("run", "-q", "--devices", devices, "main.py") for devices in DEVICES]
    assert [run.stdout.split()[-1] for run in runs[:3]] == ["cpu", "cuda", "mps"]
