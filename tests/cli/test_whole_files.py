"""What other files of a project say about a whole file: who imports it, and who writes what it reads."""

import json

import pytest


@pytest.fixture
def project(torchport):
    torchport.write("pyproject.toml", '[project]\nname = "p"\n')
    return torchport


def codes(torchport, rule: str) -> list[str]:
    """The findings of a rule; the second answer comes from the cache."""
    first, second = (
        json.loads(torchport("check", "--select", rule, "--format", "json", ".").stdout)["findings"]
        for _ in range(2)
    )
    assert first == second
    return [finding["code"] for finding in first]


CUPY = "import cupy\nimport torch\n\n\ndef warp(x):\n    return cupy.asarray(x.numpy())\n"
COMPILED = (
    "import torch\nimport warp_cuda\n\n\nclass Warp(torch.autograd.Function):\n    @staticmethod\n"
    "    def forward(ctx, x):\n        return warp_cuda.forward(x)\n\n\nwarp = Warp.apply\n"
)
CAUGHT = (
    "import torch\n\ntry:\n    from .ops import warp\nexcept ImportError:\n    warp = None\n"
    "print(torch.ones(1))\n"
)


@pytest.mark.parametrize(("rule", "ops"), [("TP802", CUPY), ("TP801", COMPILED)])
def test_a_file_of_kernels_that_its_importers_can_do_without(project, rule, ops) -> None:
    project.write("net/ops.py", ops)
    assert codes(project, rule) == [rule]
    project.write("net/model.py", CAUGHT)
    assert codes(project, rule) == []
    # An importer that fails with it, though it does not speak of torch.
    project.write("net/start.py", "from . import ops\n\nprint(ops)\n")
    assert codes(project, rule) == [rule]


LOAD = (
    "import os\n\nimport torch\n\n\ndef load(model, folder):\n"
    "    model.weight = torch.load(os.path.join(folder, 'emb', 'emb.pth'))\n"
)
SAVE = (
    "import os\n\nimport torch\n\n\ndef save(x, folder):\n"
    "    torch.save(x{}, os.path.join(folder, 'emb', '{}.pth'))\n"
)


@pytest.mark.parametrize(
    ("moved", "name", "found"),
    [(".cpu()", "emb", False), ("", "emb", True), (".cpu()", "other", True)],
)
def test_a_file_that_the_project_saves_from_the_cpu(project, moved, name, found) -> None:
    project.write("load.py", LOAD)
    project.write("save.py", SAVE.format(moved, name))
    assert codes(project, "TP301") == (["TP301"] if found else [])


LATE = (
    "import argparse\nimport os\n\nimport torch\n\nfrom layers import net\n\n\ndef main(gpus):\n"
    "    os.environ['CUDA_VISIBLE_DEVICES'] = gpus\n    net(torch.ones(1))\n\n\n"
    "if __name__ == '__main__':\n    main('0')\n"
)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("", False),
        ("SIZE = torch.ones(1)\n", False),
        ("torch.cuda.manual_seed(1)\n", False),
        ("HAS_CUDA = torch.cuda.is_available()\n", True),
    ],
)
def test_visible_devices_after_an_import(project, line, found) -> None:
    project.write("main.py", LATE)
    project.write("layers.py", "from deep import net\n")
    project.write("deep.py", f"import torch\n\n{line}\n\ndef net(x):\n    return x.cuda()\n")
    assert codes(project, "TP108") == (["TP108"] if found else [])


SETUP = (
    "from setuptools import setup\nfrom torch.utils.cpp_extension import CUDAExtension\n\n"
    "setup(name='corr', {}ext_modules=[{}CUDAExtension('corr', ['a.cpp', 'a.cu'])])\n"
)


@pytest.mark.parametrize(
    ("packages", "other", "found"),
    [
        ("", "", False),
        ("packages=['corr'], ", "", True),
        ("", "CppExtension('b', ['b.cpp']), ", True),
    ],
)
def test_a_package_that_is_only_the_kernel(project, packages, other, found) -> None:
    project.write("corr/setup.py", SETUP.format(packages, other))
    assert codes(project, "TP702") == (["TP702"] if found else [])


def test_a_kernel_with_python_code_beside_its_build_script(project) -> None:
    project.write("corr/setup.py", SETUP.format("", ""))
    project.write("corr/layer.py", "import torch\n\n\nclass Layer(torch.nn.Module):\n    pass\n")
    assert codes(project, "TP702") == ["TP702"]


COUNT = "import torch\n\n\ndef memory():\n    return [i for i in (torch.cuda.device_count(),)]\n"
USE = (
    "import torch\nfrom count import memory\n\n\ndef load():\n"
    "    if torch.cuda.is_available():\n        return memory()\n    return torch.ones(1)\n"
)


def test_a_service_of_a_function_that_is_called_with_cuda_only(project) -> None:
    project.write("count.py", COUNT)
    assert codes(project, "TP109") == ["TP109"]
    project.write("use.py", USE)
    assert codes(project, "TP109") == []
    project.write("bare.py", "import torch\nfrom count import memory\n\nprint(memory(), torch)\n")
    assert codes(project, "TP109") == ["TP109"]
