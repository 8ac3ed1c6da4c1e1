"""A `cuda` of the project's own class does what `.to()` does not: programs give the same on CUDA after safe
fixes, and those whose class has no `to` run without CUDA, too."""

from __future__ import annotations

import pytest

HEAD = "import torch\n\n\n"
CLASS = """class Embedder(object):
    def __init__(self):
        self.model = torch.nn.Linear(2, 2)

    def cuda(self):
        self.model.cuda()
        return self

    def run(self, x):
        return self.model(x)


"""
MODULE = """class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.table = torch.ones(2)

    def cuda(self):
        super().cuda()
        self.table = self.table.cuda()
        return self

    def forward(self, x):
        return self.layer(x) * self.table


"""
TASK = """class Task:
    def __init__(self, embedder):
        self.embedder = embedder

    def go(self):
        self.embedder.cuda()
        return self.embedder.run(torch.ones(1, 2).cuda())


print(tuple(Task(Embedder()).go().shape))
"""
WITH_MEMORY = """def with_memory(self, device=None):
    self.memory = torch.zeros(2).cuda()
    return torch.nn.Module.cuda(self, device)


"""
USE = "net = Net(2, 2).cuda()\nprint(tuple((net(torch.ones(1, 2).cuda()) + net.memory).shape))\n"
EXPORT = """class Export:
    def to(self, fmt):
        return "%s:%s" % (fmt, type(self).__name__)


"""
OWN_TO = """class Net(torch.nn.Linear):
    def to(self, where):
        self.where = where
        return self


"""
USE_TO = "net = Net(2, 2).cuda()\nout = net(torch.ones(1, 2).cuda())\nassert not hasattr(net, 'where')\nprint(tuple(out.shape))\n"
RUN = "\n\ndef run(net, x):\n    net = net.cuda()\n    return net(x.cuda())\n\n\nprint(tuple(run(Net(), torch.ones(1, 2)).shape))\n"
PROGRAMS = {
    "a class without to, by an attribute": ({"main.py": HEAD + CLASS + TASK}, True),
    "a class without to, by a name": (
        {"main.py": HEAD + CLASS + "e = Embedder()\ne.cuda()\nprint(tuple(e.run(torch.ones(1, 2).cuda()).shape))\n"},
        True,
    ),
    "a module with more in cuda than in to": ({"main.py": HEAD + MODULE + RUN}, False),
    "a module of another file": (
        {"main.py": "import torch\nfrom net import Net\n" + RUN, "net.py": HEAD + MODULE},
        False,
    ),
    "a cuda that its class takes from a function": (
        {"main.py": HEAD + WITH_MEMORY + "class Net(torch.nn.Linear):\n    cuda = with_memory\n\n\n" + USE},
        False,
    ),
    "a cuda that is put into a class": (
        {"main.py": HEAD + WITH_MEMORY + "class Net(torch.nn.Linear):\n    pass\n\n\nNet.cuda = with_memory\n" + USE},
        False,
    ),
    "a cuda that setattr puts into a class of another file": (
        {
            "net.py": HEAD + "class Net(torch.nn.Linear):\n    pass\n",
            "patch.py": HEAD + WITH_MEMORY + "def patch(kind):\n    setattr(kind, 'cuda', with_memory)\n",
            "main.py": "import torch\nfrom net import Net\nfrom patch import patch\n\npatch(Net)\n" + USE,
        },
        False,
    ),
    "a to that is no move": ({"main.py": HEAD + OWN_TO + USE_TO}, False),
    "a to of a mixin that is no move": (
        {"main.py": HEAD + EXPORT + "class Net(Export, torch.nn.Linear):\n    pass\n\n\n" + USE_TO},
        False,
    ),
    "a to of a mixin of another file": (
        {
            "export.py": EXPORT,
            "main.py": "import torch\nfrom export import Export\n\n\nclass Net(Export, torch.nn.Linear):\n    pass\n\n\n"
            + "def run(net):\n    net.cuda()\n    return net(torch.ones(1, 2).cuda())\n\n\nprint(tuple(run(Net(2, 2)).shape))\n",
        },
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_on_cuda_stays(torchport, name: str) -> None:
    files, portable = PROGRAMS[name]
    for path, text in files.items():
        torchport.write(path, text)

    def run(devices: str):
        return torchport("run", "-q", "--devices", devices, "main.py")

    before = run("cuda:1")
    assert before.stdout == "(1, 2)\n", before.stderr
    torchport("fix", "-q")
    after = run("cuda:1")
    assert after.stdout == before.stdout, after.stderr
    if portable:
        without = run("none")
        assert without.stdout == before.stdout, without.stderr
