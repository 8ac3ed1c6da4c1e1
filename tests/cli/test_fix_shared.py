"""`torchport fix` of a package: its modules take the device from one place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FILES = {
    "pkg/__init__.py": "from .a import make\n",
    "pkg/a.py": '"""A."""\n\nimport torch\nfrom torch import nn\n\nfrom .b import helper\n\n\n'
    "def make():\n    return helper(nn.Linear(3, 3).cuda())\n",
    "pkg/b.py": "import torch\n\nONE = 1\n\n\ndef helper(net):\n"
    "    return net(torch.ones(2, 3).cuda())\n",
    "pkg/sub/__init__.py": "",
    "pkg/sub/c.py": "import torch\n\nfrom ..a import make\n\n\ndef build():\n"
    "    return make() + torch.ones(3).cuda()\n",
    "run.py": "import torch\nfrom pkg.sub.c import build\n\n"
    'if __name__ == "__main__":\n    print(build().shape, torch.ones(3).cuda().device)\n',
}


@pytest.fixture
def package(torchport) -> Path:
    for name, text in FILES.items():
        torchport.write(name, text)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run(
            ["git", *identity, *words], cwd=torchport.folder, check=True, capture_output=True
        )
    return torchport.folder


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*.py")
        if ".torchport" not in path.parts
    }


def test_the_choice_is_written_once(torchport, package) -> None:
    run = torchport("fix", ".")
    assert run.returncode == 0, run.stderr
    assert "New: pkg/_device.py" in run.stdout
    now = contents(package)
    choosing = {name for name, text in now.items() if "is_available" in text}
    assert choosing == {"pkg/_device.py", "run.py"}
    assert "\nfrom ._device import DEVICE\nfrom .b import helper\n" in now["pkg/a.py"]
    assert "import torch\n\nfrom ._device import DEVICE\n\nONE = 1\n" in now["pkg/b.py"]
    assert "\nfrom .._device import DEVICE\nfrom ..a import make\n" in now["pkg/sub/c.py"]
    ran = subprocess.run(
        [sys.executable, "run.py"], cwd=package, capture_output=True, text=True, check=False
    )
    assert "torch.Size([2, 3])" in ran.stdout, ran.stderr
    again = torchport("fix", "--allow-dirty", ".")
    assert "Nothing to fix" in again.stdout
    assert contents(package) == now
    undo = torchport("fix", "--undo")
    assert undo.returncode == 0, undo.stderr
    assert contents(package) == FILES


def test_the_patch_makes_the_module(torchport, package) -> None:
    patch = torchport("fix", "--diff", ".").stdout
    assert "--- /dev/null\n+++ pkg/_device.py\n" in patch
    assert contents(package) == FILES
    subprocess.run(
        ["patch", "-p0"], input=patch, text=True, cwd=package, check=True, capture_output=True
    )
    by_patch = contents(package)
    subprocess.run(["git", "checkout", "-q", "."], cwd=package, check=True)
    (package / "pkg" / "_device.py").unlink()
    assert torchport("fix", ".").returncode == 0
    assert contents(package) == by_patch


def test_a_later_fix_takes_the_device_that_is_there(torchport, package) -> None:
    torchport("fix", ".")
    torchport.write("pkg/d.py", "import torch\nfrom .b import ONE\n\nx = torch.ones(ONE).cuda()\n")
    run = torchport("fix", "--allow-dirty", "pkg/d.py")
    assert run.returncode == 0 and "New:" not in run.stdout
    assert (package / "pkg/d.py").read_text() == (
        "import torch\nfrom ._device import DEVICE\nfrom .b import ONE\n\n"
        "x = torch.ones(ONE, device=DEVICE)\n"
    )


def test_no_module_outside_of_what_was_named(torchport, package, without_torch) -> None:
    run = torchport("fix", "pkg/a.py", "pkg/b.py")
    assert run.returncode == 0 and "New:" not in run.stdout
    assert not (package / "pkg" / "_device.py").exists()
    assert "DEVICE = torch.device(" in (package / "pkg/a.py").read_text()
