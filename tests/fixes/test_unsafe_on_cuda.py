"""Fixes that need a review keep a program on the CUDA devices that it names: what they change is for other machines."""

from __future__ import annotations

from pathlib import Path

import pytest

HEAD = "import torch\nfrom torch import nn\n\n\n"
BUFFER = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(2{there}
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x).to(self.scale.device) * self.scale


net = Net().cuda()
print(net(torch.ones(1, 2).cuda()).device)
"""
OWN = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.extra = torch.ones(2)

    def cuda(self, device=None):
        self.extra = self.extra.cuda(device)
        return super().cuda(device)

    def forward(self, x):
        return self.layer(x) + self.extra


net = Net().cuda()
print(net(torch.ones(1, 2).cuda()).device)
"""
UNMOVED = """class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.mu = torch.ones(d).cuda()
        self.p = nn.Parameter(torch.zeros(d, device="cuda"))

    def forward(self, x):
        return (x - self.mu) * self.p


print(Net(2)(torch.ones(1, 2).cuda()).device)
"""
PROGRAMS = {
    "a tensor of a module that nobody moves": UNMOVED,
    "a tensor that stays on another device": BUFFER.format(there=', device="cuda:1")'),
    "a tensor that is moved to another device": BUFFER.format(there=").cuda(1)"),
    "names that mean something else": "DEVICE = 3\nTORCH_DEVICE = 'x'\n_TORCH_DEVICE = ()\nnet = nn.Linear(2, 2).cuda()\n"
    "print(net(torch.ones(DEVICE, 2).cuda()).device, TORCH_DEVICE, _TORCH_DEVICE)\n",
    "a string that names no device": "device = 'Pixel 5'\nprint(torch.ones(2).cuda().device, device)\n",
    "a comparison with a device": "x = torch.ones(2).cuda()\ny = torch.zeros(2, device='cuda:0')\nd = torch.device('cuda:0')\n"
    "print(str(x.device) == 'cuda:0', x.device == torch.device('cuda:0'), {'cuda:0': 1}[str(x.device)], y.device == d, str(d))\n",
    "a cuda of its own": OWN,
    "a number": "net = nn.Linear(2, 2).cuda(1)\nx = torch.ones(1, 2).cuda(device=1)\nprint(net(x).device)\n",
    "a number in one place": "net = nn.Linear(2, 2).cuda(torch.device('cuda:1'))\n\n\ndef move(x, gpu=1):\n    return x.cuda(gpu)\n\n\n"
    "print(net(move(torch.ones(1, 2))).device)\n",
    "a number in a name": "GPU = 1\nnet = nn.Linear(2, 2).cuda(GPU)\nx = torch.ones(1, 2).cuda(GPU)\nprint(net(x).device)\n",
    "a wrapper that loads": "a = nn.DataParallel(nn.Linear(2, 2)).cuda()\nb = nn.DataParallel(nn.Linear(2, 2)).cuda()\n"
    "torch.save(a.state_dict(), 'net.pt')\nb.load_state_dict(torch.load('net.pt'))\nx = torch.ones(4, 2).cuda()\nprint(torch.equal(a(x), b(x)))\n",
    "the first device beside another current one": "torch.cuda.set_device(1)\nx = torch.ones(2).cuda(0)\nprint(x.device)\n",
}  # fmt: skip


MOVER = (
    "class Mover:\n    def cuda(self):\n        self.rows = self.rows.cuda()\n        return self\n"
)
DECORATOR = "def movable(cls):\n    def cuda(self):\n        self.rows = self.rows.cuda()\n        return self\n\n    cls.cuda = cuda\n    return cls\n"
ROWS = "    def __init__(self):\n        self.rows = torch.ones(2)\n"
TO = "\n    def to(self, place):\n        assert place.startswith('cuda')\n        return self.cuda()\n"
BANK = "\n\nbank = Bank().cuda()\nprint(bank.rows.device)\n"
BASE = "from torch import nn\n\n\nclass Base(nn.Module):\n    on_gpu = False\n\n    def cuda(self, device=None):\n        self.on_gpu = True\n        return super().cuda(device)\n"
OWN_MOVES = {
    "a base class of another file": (MOVER, "from part import Mover\n\n\nclass Bank(Mover):\n" + ROWS + BANK),
    "a decorator of another file": (DECORATOR, "from part import movable\n\n\n@movable\nclass Bank:\n" + ROWS + BANK),
    "a to of its own": (MOVER, "from part import Mover\n\n\nclass Bank(Mover):\n" + ROWS + TO + BANK),
    "an imported class": (MOVER + "\n\nclass Bank(Mover):\n    def __init__(self):\n        import torch\n\n        self.rows = torch.ones(2)\n", "from part import Bank\n" + BANK),
    "a module's base of another file": (BASE, "from torch import nn\nfrom part import Base\n\n\nclass Net(Base):\n    def __init__(self):\n        super().__init__()\n        self.layer = nn.Linear(2, 2)\n\n\nnet = Net().cuda()\nprint(net.layer.weight.device, net.on_gpu)\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", OWN_MOVES)
def test_moves_of_their_own_are_only_described(torchport, name: str) -> None:
    part, main = OWN_MOVES[name]
    torchport.write("part.py", part)
    torchport.write("main.py", "import torch\n" + main)
    before = torchport("run", "-q", "--devices", "cuda:1", "main.py")
    assert before.returncode == 0, before.stderr
    torchport("fix", "-q", "--unsafe-fixes")
    assert "().cuda()" in (torchport.folder / "main.py").read_text()
    after = torchport("run", "-q", "--devices", "cuda:1", "main.py")
    assert (after.returncode, after.stdout) == (0, before.stdout), after.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_on_cuda_stays(torchport, name: str) -> None:
    torchport.write("main.py", HEAD + PROGRAMS[name])
    before = torchport("run", "-q", "--devices", "cuda:2", "main.py")
    assert before.returncode == 0, before.stderr
    torchport("fix", "-q", "--unsafe-fixes")
    after = torchport("run", "-q", "--devices", "cuda:2", "main.py")
    text = Path(torchport.folder / "main.py").read_text()
    assert (after.returncode, after.stdout) == (0, before.stdout), text + after.stderr


def test_the_number_of_a_device_stands_in_the_advice(torchport) -> None:
    torchport.write("main.py", "import torch\n\n\ndef move(x, gpu):\n    return x.cuda(gpu)\n")
    check = torchport("check", "main.py")
    assert 'torch.device("cuda", gpu)' in check.stdout, check.stdout
    assert "DEVICE" not in check.stdout


def test_a_wrapper_of_another_file_loads_what_was_saved(torchport) -> None:
    wrap = "import torch\nfrom torch import nn\n\nnet = nn.Linear(2, 2)\nmodel = nn.DataParallel(net, device_ids=[0]).cuda()\n"
    torchport.write("train.py", wrap + "torch.save(model.state_dict(), 'net.pt')\n")
    torchport.write(
        "predict.py", wrap + "model.load_state_dict(torch.load('net.pt'))\nprint('loaded')\n"
    )
    torchport("fix", "-q", "--unsafe-fixes")
    for program in ("train.py", "predict.py"):
        run = torchport("run", "-q", "--devices", "cuda:1", program)
        assert run.returncode == 0, run.stderr


def test_all_fixes_of_data_parallel_serve_other_accelerators(torchport) -> None:
    """torch 2.13 takes XPU's devices for DataParallel and has no function that splits a batch over them."""
    torchport.write(
        "main.py",
        "import torch\nfrom torch import nn\n\nnet = nn.Linear(2, 2)\nnet = nn.DataParallel(net).cuda()\nx = torch.ones(4, 2).cuda()\nprint(tuple(net(x).shape))\n",
    )
    torchport("fix", "-q", "--unsafe-fixes", "--min-torch", "2.6")
    for devices in ("cuda:2", "xpu:2", "mps:1", "none"):
        run = torchport("run", "-q", "--devices", devices, "main.py")
        assert (run.returncode, run.stdout) == (0, "(4, 2)\n"), (devices, run.stderr)
