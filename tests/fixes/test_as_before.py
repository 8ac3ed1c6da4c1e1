"""Programs print the same on virtual CUDA before and after safe fixes, also where another device, an earlier question
for CUDA, or a compiler would show; and no safe fix puts tensors that met on two devices of another kind."""

from __future__ import annotations

import json

import pytest

CHILD = """import torch


def work(queue):
    queue.put(torch.full((2,), 2.0).cuda().sum().item())
"""
PARENT = """import {module} as mp
from child import work

if __name__ == "__main__":
    queue = mp.{queue}()
    process = mp.{start}(target=work, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
"""
NET = "import torch\n\n\ndef make():\n    return torch.nn.Linear(2, 2).cuda()\n"


def chooses(line: str, head: str = "") -> dict[str, str]:
    """A program whose main function sets CUDA_VISIBLE_DEVICES by this line."""
    main = f"import os\n\nimport torch\nfrom net import make\n{head}\n\ndef main():\n    {line}\n    print(make().weight.device, torch.cuda.device_count())\n\n\nif __name__ == '__main__':\n    main()\n"
    return {"main.py": main, "net.py": NET, "settings.json": '{"CUDA_VISIBLE_DEVICES": "1"}'}


PROGRAMS: dict[str, dict[str, str]] = {
    "a child by fork": {
        "main.py": PARENT.format(module="multiprocessing", queue="SimpleQueue", start="Process"),
        "child.py": CHILD,
    },
    "a child by torch's fork": {
        "main.py": PARENT.format(module="torch.multiprocessing", queue="get_context('fork').SimpleQueue", start="get_context('fork').Process"),
        "child.py": CHILD,
    },
    "a pool of futures": {
        "main.py": "from concurrent.futures import ProcessPoolExecutor as Workers\nfrom work import double\n\nif __name__ == '__main__':\n    with Workers(1) as workers:\n        print(list(workers.map(double, [1.0, 2.0])))\n",
        "work.py": "import torch\n\n\ndef double(x):\n    return (torch.tensor(x).cuda() * 2).item()\n",
    },
    "another current device": {
        "main.py": "import torch\n\nDEVICE = 'cuda:0'\n\n\ndef place(x):\n    return x.to(DEVICE)\n\n\ntorch.cuda.set_device(1)\nx = torch.zeros(3).cuda()\nprint(x.device, place(x).device)\n",
    },
    "a seed that changes between": {
        "main.py": "import torch\n\n\ndef add(s):\n    torch.manual_seed(s)\n    s += 1\n    torch.cuda.manual_seed(s)\n    print(torch.rand(1, device='cuda'))\n\n\ndef bind(seed, offset=1):\n    torch.manual_seed(seed)\n    seed = seed + offset\n    torch.cuda.manual_seed_all(seed)\n    print(torch.rand(1, device='cuda'))\n\n\nadd(4)\nbind(3)\n",
    },
    "a seed that a call or an attribute gives": {
        "main.py": "import torch\n\n\nclass R:\n    seed = 1\n\n    def next(self):\n        R.seed += 1\n        return R.seed\n\n\nr = R()\ntorch.manual_seed(r.next())\ntorch.cuda.manual_seed_all(r.next())\nprint(torch.rand(1, device='cuda'))\ntorch.manual_seed(r.seed)\nr.seed = 9\ntorch.cuda.manual_seed(r.seed)\nprint(torch.rand(1, device='cuda'))\n",
    },
    "a leaf": {
        "main.py": "import torch\n\nw = torch.zeros(3, requires_grad=True).cuda()\nprint(w.is_leaf, w.device)\n",
    },
    "a buffer for the result": {
        "main.py": "import torch\n\nbuffer = torch.empty(2)\nx = torch.ones(2, out=buffer).cuda()\nprint(x.device, buffer.tolist())\n",
    },
    "a storage, whose to() takes keywords": {
        "main.py": "import torch\n\ns = torch.arange(3.0).untyped_storage().cuda()\nt = torch.ones(2).storage()\nprint(s.device, t.cuda().device)\n",
    },
    "an object that answers to cuda alone": {
        "main.py": "import torch\n\n\nclass Box:\n    def __init__(self, tensor):\n        self.tensor = tensor\n\n    def __getattr__(self, name):\n        if name == 'cuda':\n            return lambda: Box(self.tensor.cuda())\n        raise AttributeError(name)\n\n\nprint(Box(torch.ones(2)).cuda().tensor.device)\n",
    },
    "an object that answers to a list": {
        "main.py": "import torch\nfrom box import wrap\n\nprint(wrap(torch.ones(2)).cuda().device)\n",
        "box.py": "import torch\n\nPASSED = {'cuda', 'device'}\n\n\nclass Box:\n    def __init__(self, tensor):\n        self.tensor = tensor\n\n    def __getattr__(self, name):\n        if name in PASSED:\n            return getattr(self.tensor, name)\n        raise AttributeError(name)\n\n\ndef wrap(tensor):\n    return Box(tensor)\n",
    },
    "a name that a star brings": {
        "main.py": "DEVICE = 'sensor-7'\nfrom lib import *\n\nprint(DEVICE, grid(3).tolist())\n",
        "lib.py": "import torch\n\n\ndef grid(n):\n    return torch.arange(n).cuda()\n",
    },
    "a name that a package's star brings": {
        "main.py": "import kit\n\nprint(kit.DEVICE, kit.ones(2).device)\n",
        "kit/__init__.py": "from .common import *\nfrom .data import *\n",
        "kit/common.py": "DEVICE = 1\n",
        "kit/data.py": "import torch\n\n\ndef ones(n):\n    return torch.ones(n).cuda()\n",
    },
    "a device without an index that is looked at": {
        "main.py": "import torch\n\ndevice = torch.device('cuda:0')\n\n\ndef main():\n    x = torch.ones(2, device=device)\n    print(x.device, torch.device('cuda').index, repr(torch.device('cuda')))\n\n\nmain()\n",
    },
    "a tensor type beside another default": {
        "main.py": "import conf\nimport torch\n\ntotal = torch.cuda.FloatTensor(3).zero_()\nprint(total.dtype, (total + 1 / 3).tolist())\n",
        "conf.py": "import torch\n\ntorch.set_default_dtype(torch.float64)\n",
    },
    "code for TorchScript of another file": {
        "main.py": "import torch\nfrom block import Block\n\nblock = torch.jit.script(Block().cuda())\nprint(block(torch.ones(1, 2).cuda()).device)\n",
        "block.py": "import torch\nfrom torch import nn\n\n\nclass Block(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.layer = nn.Linear(2, 2)\n\n    def forward(self, x):\n        return self.layer(x) + torch.zeros(1, 2).cuda()\n",
    },
    "a key in a name": chooses("os.environ[KEY] = '1'", "\nKEY = 'CUDA_' + 'VISIBLE_DEVICES'\n"),
    "a key of a loop": chooses("for k, v in dict(CUDA_VISIBLE_DEVICES='1').items(): os.environ[k] = v"),
    "a joined dictionary": chooses("os.environ |= {'CUDA_VISIBLE_DEVICES': '1'}"),
    "settings from a file": chooses("import json; os.environ.update(json.load(open('settings.json')))"),
    "bytes": chooses("os.environb[b'CUDA_VISIBLE_DEVICES'] = b'1'"),
    "code from a text": chooses("exec(open('more.txt').read())") | {"more.txt": "os.environ['CUDA_VISIBLE_DEVICES'] = '1'"},
}  # fmt: skip
HALVES = {
    "startswith": "if args.device.startswith('cuda'):\n    x = x.to(args.device)\n",
    "contains": "if 'cuda' in args.device:\n    x = x.to(args.device)\n",
    "one of": "if args.device in ('cuda', 'cuda:0'):\n    x = x.cuda()\n",
    "type": "if torch.device(args.device).type == 'cuda':\n    x = x.to(args.device)\n",
    "elif": "if args.device == 'cpu':\n    pass\nelif args.device == 'cuda':\n    x = x.to(args.device)\n",
    "choice": "place = args.device if args.device.startswith('cuda') and torch.cuda.is_available() else 'cpu'\nx = x.to(place)\n",
    "match": "match args.device:\n    case 'cuda':\n        x = x.cuda()\n    case _:\n        pass\n",
    "find": "if args.device.find('cuda') != -1:\n    x = x.to(args.device)\n",
    "count": "if args.device.count('cuda'):\n    x = x.to(args.device)\n",
    "pattern": "import re\nif re.match('cuda', args.device):\n    x = x.to(args.device)\n",
    "way out": "def move(t):\n    if args.device.find('cuda') < 0:\n        return t\n    return t.to(args.device)\n\n\nx = move(x)\n",
    "dictionary of moves": "x = {'cuda': lambda t: t.cuda(), 'cpu': lambda t: t}[args.device](x)\n",
    "dictionary of functions": "def keep(t):\n    return t\n\n\nx = {'cuda': lambda t: t.to(args.device), 'cpu': keep}[args.device](x)\n",
    "method by name": "x = getattr(x, args.device)()\n",
    "try": "try:\n    x = x.cuda()\nexcept (AssertionError, RuntimeError):\n    pass\n",
}
HALF = """import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
args = parser.parse_args()
net = torch.nn.Linear(2, 2).to(args.device)
x = torch.ones(1, 2)
{half}print(tuple(net(x).shape))
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_on_cuda_stays(torchport, name: str) -> None:
    for path, text in PROGRAMS[name].items():
        torchport.write(path, text)
    before = torchport("run", "-q", "--devices", "cuda:2", "main.py")
    assert before.returncode == 0, before.stderr
    fix = torchport("fix", "-q")
    assert fix.returncode in (0, 1), fix.stderr
    after = torchport("run", "-q", "--devices", "cuda:2", "main.py")
    assert (after.returncode, after.stdout) == (0, before.stdout), after.stderr


def test_a_setting_named_cuda_is_no_method(torchport) -> None:
    torchport.write(
        "main.py",
        "import argparse\n\nimport torch\n\n\nclass Config:\n    cuda = True\n\n    def __init__(self, cuda):\n        self.cuda = cuda\n\n\n"
        "args = argparse.Namespace()\nargs.cuda = True\nnet = torch.nn.Linear(2, 2).cuda()\n",
    )
    torchport("fix", "-q")
    assert "Linear(2, 2).to(DEVICE)" in (torchport.folder / "main.py").read_text()


@pytest.mark.parametrize("half", HALVES)
def test_a_half_that_knows_cuda_only(torchport, half: str) -> None:
    torchport.write("main.py", HALF.format(half=HALVES[half]))
    torchport("fix", "-q")
    for devices in ("cuda:1", "none", "mps:1", "xpu:1"):
        run = torchport("run", "-q", "--devices", devices, "main.py")
        assert (run.returncode, run.stdout) == (0, "(1, 2)\n"), (devices, run.stderr)


# What asks for CUDA in words that say nothing of a device: each program has a part of this file and one of others.
NET_OF_HALF = "import torch\n{imports}\nnet = torch.nn.Linear(3, 2)\n{move}\nx = torch.ones(4, 3).cuda()\nprint(tuple(net(x).shape))\n"
WHERE = "from types import SimpleNamespace\nimport torch\n\ncfg = SimpleNamespace(where='cuda')\nif not torch.cuda.is_available():\n    cfg.where = 'cpu'\n"
SHIP = "def ship(t, on=torch.cuda.is_available()):\n    return t.cuda() if on else t\n\n\n"
TESTS: dict[str, tuple[str, str, dict[str, str]]] = {
    "walrus": ("", "if (ok := torch.cuda.is_available()):\n    net = net.cuda()\n", {}),
    "match": ("", "match torch.cuda.is_available():\n    case True:\n        net = net.cuda()\n", {}),
    "subscript": ("", "move = {True: lambda t: t.cuda(), False: lambda t: t}[torch.cuda.device_count() > 0]\nnet = move(net)\n", {}),
    "and": ("", "HAVE = torch.cuda.is_available()\nHAVE and net.cuda()\n", {}),
    "and of another file": ("import env", "env.HAVE and net.cuda()\n", {"env.py": "import torch\n\nHAVE = torch.cuda.is_available()\n"}),
    "if of another file": ("from env import HAVE", "if HAVE:\n    net.cuda()\n", {"env.py": "import torch\n\nHAVE = torch.cuda.is_available()\n"}),
    "default": ("", SHIP + "net = ship(net)\n", {}),
    "default of a partial": ("import functools", SHIP + "move = functools.partial(ship)\nnet = move(net)\n", {}),
    "attribute": ("", WHERE + "net = net.to(cfg.where)\n", {}),
    "attribute of another file": ("from cfg import cfg", "net = net.to(cfg.where)\n", {"cfg.py": WHERE}),
    "name": ("", "where = 'cuda'\nif not torch.cuda.is_available():\n    where = 'cpu'\nnet = net.to(where)\n", {}),
    "functions": ("", "def keep(t):\n    return t\n\n\ndef ship(t):\n    return t.cuda()\n\n\nmove = ship if torch.cuda.is_available() else keep\nnet = move(net)\n", {}),
    "result": ("", "def ready():\n    return torch.cuda.is_available()\n\n\nif ready():\n    net = net.cuda()\n", {}),
    "argument": ("", "def place(t, there):\n    return t.cuda() if there else t\n\n\nnet = place(net, torch.cuda.is_available())\n", {}),
    "list": ("", "for there in [torch.cuda.is_available()]:\n    if there:\n        net = net.cuda()\n", {}),
    "attributes of a module": ("", "class Env:\n    there = torch.cuda.is_available()\n\n\nif Env.there:\n    net = net.cuda()\n", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", TESTS)
def test_a_test_for_cuda_in_other_words(torchport, name: str) -> None:
    imports, move, files = TESTS[name]
    for path, text in (files | {"main.py": NET_OF_HALF.format(imports=imports, move=move)}).items():
        torchport.write(path, text)
    torchport("fix", "-q")
    text = (torchport.folder / "main.py").read_text()
    for devices in ("cuda:1", "none", "mps:1"):
        run = torchport("run", "-q", "--devices", devices, "main.py")
        assert (run.returncode, run.stdout) == (0, "(4, 2)\n"), (devices, text + run.stderr)
    found = json.loads(torchport("check", "--format", "json").stdout)["findings"]
    written = [one for one in found if one["code"] == "TP106"]
    assert files or written == [], (text, written)


@pytest.mark.parametrize(
    "line",
    (
        "print('CUDA:', torch.cuda.is_available())",
        "use_cuda = torch.cuda.is_available()\nworkers = 2 if use_cuda else 1",
        "workers = torch.cuda.device_count() * 2",
        "if torch.cuda.is_available():\n    torch.cuda.manual_seed(0)",
        "loader = torch.utils.data.DataLoader([1], pin_memory=torch.cuda.is_available())",
    ),
)
def test_a_test_for_cuda_that_places_nothing(torchport, line: str) -> None:
    torchport.write("main.py", f"import torch\n\n{line}\nx = torch.ones(4, 3).cuda()\n")
    torchport("fix", "-q")
    text = (torchport.folder / "main.py").read_text()
    assert "mps" in text or "accelerator" in text, text


def test_all_or_none_behind_a_demand(torchport) -> None:
    """`model.train()` is no use of the function `train`."""
    torchport.write(
        "main.py",
        "import torch\n\n\ndef train(model, batch):\n    model.train()\n    src, trg = batch\n    src, trg = src.cuda(), trg.cuda()\n"
        "    return model(src) - trg\n\n\ndef main():\n    assert torch.cuda.is_available()\n    model = torch.nn.Linear(2, 2).cuda()\n"
        "    print(tuple(train(model, (torch.ones(1, 2), torch.ones(1, 2))).shape))\n\n\nmain()\n",
    )
    before = (torchport.folder / "main.py").read_text()
    torchport("fix", "-q")
    assert (torchport.folder / "main.py").read_text() == before


@pytest.mark.parametrize("half", ("find", "dictionary of moves", "contains"))
def test_what_fix_wrote_is_no_finding(torchport, half: str) -> None:
    torchport.write("main.py", HALF.format(half=HALVES[half]))
    torchport("fix", "-q")
    once = (torchport.folder / "main.py").read_text()
    check = torchport("check", "--format", "json")
    assert json.loads(check.stdout)["findings"] == [], check.stdout
    torchport("fix", "-q")
    assert (torchport.folder / "main.py").read_text() == once


PROBES = {
    "try": "        try:\n            self.net.cuda()\n            self.gpu = True\n        except (AssertionError, RuntimeError):\n            self.gpu = False\n",
    "else": "        self.gpu = True\n        try:\n            self.net.cuda()\n        except Exception:\n            self.gpu = False\n",
    "suppress": "        self.gpu = False\n        with suppress(AssertionError, RuntimeError):\n            self.net.cuda()\n            self.gpu = True\n",
    "function": "        self.gpu = works()\n        if self.gpu:\n            self.net.cuda()\n",
}
PROBED = """from contextlib import suppress

import torch


def works():
    try:
        torch.zeros(1).cuda()
    except Exception:
        return False
    return True


class Job:
    def __init__(self):
        self.net = torch.nn.Linear(3, 1)
{probe}
    def step(self, x):
        if self.gpu:
            x = x.cuda()
        return self.net(x)


job = Job()
print(job.gpu, job.step(torch.ones(2, 3)).device.type)
"""


@pytest.mark.parametrize("probe", PROBES)
@pytest.mark.parametrize("devices", ["cuda:1", "none", "mps:1"])
def test_a_probe_that_fails_on_purpose_stays(torchport, probe: str, devices: str) -> None:
    torchport.write("main.py", PROBED.format(probe=PROBES[probe]))
    run = ("run", "-q", "--devices", devices, "main.py")
    before = torchport(*run)
    assert before.returncode == 0, before.stderr
    torchport("fix", ".")
    after = torchport(*run)
    assert (after.returncode, after.stdout) == (0, before.stdout), after.stderr
