"""A folder of CUDA kernels gets one finding."""

from __future__ import annotations

import json

import pytest

KERNEL = "import torch\nimport triton\n\n\ndef run(x):\n    x = x.cuda()\n    torch.cuda.synchronize()\n    return x\n"
TEST = "import torch\nfrom {module} import run\n\n\ndef main():\n    run(torch.ones(2, device='cuda'))\n    torch.cuda.synchronize()\n"
PLAIN = "import torch\n\nmodel = torch.nn.Linear(2, 2).cuda()\n"


def findings(torchport, *words: str) -> list[tuple[str, str]]:
    done = torchport("check", "--format", "json", *words)
    return [(f["path"], f["code"]) for f in json.loads(done.stdout)["findings"]]


@pytest.fixture
def kernels(torchport):
    torchport.write("pyproject.toml", "[project]\nname = 'p'\nversion = '1'\n")
    torchport.write("pkg/__init__.py", "")
    torchport.write("pkg/model.py", PLAIN)
    torchport.write("pkg/layers.py", PLAIN)
    torchport.write("pkg/train.py", PLAIN)
    torchport.write("pkg/ops/__init__.py", "from .scan import run\n")
    torchport.write("pkg/ops/scan.py", KERNEL)
    torchport.write("pkg/ops/norm.py", KERNEL)
    torchport.write("pkg/ops/bench_scan.py", TEST.format(module="pkg.ops.scan"))
    torchport.write("pkg/ops/test_scan.py", TEST.format(module="pkg.ops"))
    return torchport


def test_one_finding_says_it(kernels):
    assert findings(kernels, ".") == [
        ("pkg/layers.py", "TP101"),
        ("pkg/model.py", "TP101"),
        ("pkg/ops/bench_scan.py", "TP803"),
        ("pkg/train.py", "TP101"),
    ]
    message = kernels("check", "--no-cache", ".").stdout
    assert "pkg/ops is CUDA kernels" in message
    assert "findings in 4 files are not listed" in message


def test_ignoring_it_lists_the_findings(kernels):
    found = findings(kernels, "--ignore", "TP803", ".")
    assert len([path for path, _ in found if path.startswith("pkg/ops/")]) >= 8
    assert "TP803" not in {code for _, code in found}
    assert ("pkg/ops/scan.py", "TP101") in findings(kernels, "--select", "TP101", ".")


def test_fix_leaves_the_folder(kernels):
    kernels("fix", "--unsafe-fixes", "--allow-dirty", ".")
    assert (kernels.folder / "pkg/ops/scan.py").read_text() == KERNEL
    assert ".cuda()" not in (kernels.folder / "pkg/model.py").read_text()


def test_a_few_findings_are_listed(kernels):
    for name in ("scan", "norm"):
        kernels.write(
            f"pkg/ops/{name}.py", "import triton\nimport torch\n\n\ndef run(x):\n    return x\n"
        )
    kernels.write(
        "pkg/ops/bench_scan.py",
        TEST.format(module="pkg.ops.scan").replace("    torch.cuda.synchronize()\n", ""),
    )
    kernels.write("pkg/ops/test_scan.py", "")
    codes = {code for path, code in findings(kernels, ".") if path.startswith("pkg/ops/")}
    assert "TP102" in codes and "TP803" not in codes


def test_tests_of_a_package_with_a_few_kernels_are_no_kernels(kernels):
    for name in ("model", "layers", "train"):
        body = TEST.format(module=f"pkg.{name}").replace("import run", "import model as run")
        kernels.write(f"bench/bench_{name}.py", body)
    found = findings(kernels, ".")
    assert ("bench/bench_model.py", "TP102") in found
    assert [path for path, code in found if code == "TP803"] == ["pkg/ops/bench_scan.py"]


def test_the_tests_of_kernels_in_another_folder(torchport):
    torchport.write("pyproject.toml", "[project]\nname = 'p'\nversion = '1'\n")
    torchport.write("pkg/ops.py", KERNEL)
    for i in range(9):
        torchport.write(f"pkg/part{i}.py", PLAIN)
    many = TEST.format(module="pkg.ops") + "    run(torch.ones(2, device='cuda'))\n" * 5
    torchport.write("tests/test_ops.py", many)
    torchport.write(
        "tests/test_part.py",
        "import torch\nfrom pkg import part1\nx = torch.ones(2, device='cuda')\n",
    )
    found = [f for f in findings(torchport, ".") if f[0].startswith("tests/")]
    assert found == [("tests/test_ops.py", "TP803"), ("tests/test_part.py", "TP102")]
    assert "tests tests and measures" in torchport("check", "--no-cache", ".").stdout


def test_a_function_that_moves_to_cuda_is_no_kernel(torchport):
    torchport.write("pyproject.toml", "[project]\nname = 'p'\nversion = '1'\n")
    torchport.write("pkg/utils.py", "import torch\n\n\ndef move_to_cuda(x):\n    return x.cuda()\n")
    lines = "".join(f"x{i} = torch.ones(2, device='cuda')\n" for i in range(6))
    torchport.write(
        "tests/test_it.py", "import torch\nfrom pkg.utils import move_to_cuda\n" + lines
    )
    assert "TP803" not in {code for _, code in findings(torchport, ".")}


@pytest.mark.parametrize(
    "kernels", ["flash_attn_2_cuda as kernels", "flash_attn_3._C", "torch.nn, cutlass.cute"]
)
def test_the_tests_of_an_extension_that_the_package_hands_on(torchport, kernels) -> None:
    torchport.write("pyproject.toml", "[project]\nname = 'p'\nversion = '1'\n")
    torchport.write("flash/__init__.py", "from flash.interface import run\n")
    interface = f"import torch\nimport {kernels}\n\n\ndef run(x):\n    return x.cuda()\n"
    torchport.write("flash/interface.py", interface)
    for i in range(9):
        torchport.write(f"flash/part{i}.py", PLAIN)
    many = TEST.format(module="flash") + "    run(torch.ones(2, device='cuda'))\n" * 5
    torchport.write("tests/test_run.py", many)
    assert ("tests/test_run.py", "TP803") in findings(torchport, ".")
    torchport.write("flash/other.py", "import torch\n\n\ndef run(x):\n    return x.cuda()\n")
    torchport.write("tests/test_run.py", many.replace("from flash import", "from other import"))
    assert ("tests/test_run.py", "TP803") not in findings(torchport, ".")


def test_what_tests_a_package_that_is_kernels_to_a_third(torchport) -> None:
    torchport.write("pyproject.toml", "[project]\nname = 'p'\nversion = '1'\n")
    for i in range(3):
        torchport.write(f"flash/ops/kernel{i}.py", KERNEL)
        torchport.write(f"flash/ops/plain{i}.py", PLAIN)
        torchport.write(f"flash/part{i}.py", PLAIN)
    many = "import torch\n" + "".join(f"x{i} = torch.ones(2, device='cuda')\n" for i in range(6))
    torchport.write("tests/test_any.py", many)
    assert ("tests/test_any.py", "TP803") in findings(torchport, ".")
    torchport.write("flash/part9.py", PLAIN)
    assert ("tests/test_any.py", "TP803") not in findings(torchport, ".")
