"""Damaged installations and other packages: a program runs without torchport's part or does not start,
and one sentence says why."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from torchport import _releases

pytestmark = pytest.mark.own_process

TORCHPORT = Path(sys.executable).with_name("torchport")
BINDINGS = "import torch, torchport\nprint('imported', torchport.choose_device('cpu').device)"
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


@pytest.fixture
def damaged(tmp_path: Path, runtime_folder: Path) -> Path:
    """A copy of the runtime by links, whose files a test replaces."""
    folder = tmp_path / "lib" / runtime_folder.name
    folder.mkdir(parents=True)
    for source, target in ((runtime_folder.parent, folder.parent), (runtime_folder, folder)):
        for path in source.iterdir():
            if path.is_file():
                (target / path.name).symlink_to(path)
    return folder


def cut(path: Path) -> None:
    whole = path.read_bytes()
    path.unlink()
    path.write_bytes(whole[: len(whole) // 2])
    path.chmod(0o755)


def empty(path: Path) -> None:
    path.unlink()
    path.write_bytes(b"")
    path.chmod(0o755)


def script(path: Path) -> None:
    path.unlink()
    path.write_text("echo imported\n")
    path.chmod(0o755)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("damage", [cut, folder, pipe])
@pytest.mark.parametrize("name", ["libtorchport_observer.so", "libtorchport.so"])
def test_a_damaged_library_that_another_one_links(
    run_virtual, damaged: Path, name: str, damage: Callable[[Path], None]
) -> None:
    damage(damaged / name)
    for program, devices in (("import torch", "cuda:1"), (BINDINGS, None)):
        done = run_virtual(
            program, devices=devices, check=False, TORCHPORT_LIBRARY=str(damaged.parent)
        )
        assert done.returncode == 1 and done.stdout == ""
        last = done.stderr.splitlines()[-1]
        assert f"UnsupportedTorch: torchport: {damaged / name} cannot be loaded: it " in last
        assert last.endswith("Install torchport again")


@pytest.mark.parametrize("damage", [cut, empty, script, folder, pipe])
def test_a_damaged_program_is_not_started(damaged: Path, damage: Callable[[Path], None]) -> None:
    damage(damaged / "torchport-infer")
    done = subprocess.run(
        [TORCHPORT, "infer", "a.pt", "b.npy"],
        env=os.environ | {"TORCHPORT_LIBRARY": str(damaged.parent)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.endswith("; install torchport again\n")


def library(path: Path, source: str) -> None:
    code = path.with_suffix(".c")
    code.write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path, code], check=True)


def torch_with(folder: Path, version_number: str, runtime: Path) -> str:
    """A torch that says that it is the release of `runtime`, with libraries of another one.

    Returns the release that it says."""
    built_for = runtime.name.removeprefix("torch-")
    served = next(s for s in _releases.served_torches() if s.built_for == built_for)
    (folder / "torch/lib").mkdir(parents=True)
    (folder / "torch/__init__.py").write_text("print('imported')\n")
    (folder / "torch/version.py").write_text(
        f"__version__ = '{served.version}'\ngit_version = '{served.git_version}'\n"
    )
    for name in ("libtorch_global_deps.so", "libc10.so", "libtorch_cpu.so"):
        library(
            folder / "torch/lib" / name,
            f"unsigned long aoti_torch_abi_version(void) {{ return {version_number}; }}",
        )
    return served.version


@needs_cc
def test_a_torch_whose_libraries_are_of_another_release(
    run_virtual, tmp_path: Path, runtime_folder: Path
) -> None:
    served = torch_with(tmp_path, "0x0263070000000000", runtime_folder)
    done = run_virtual("import torch", check=False, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1 and "imported" not in done.stdout
    assert done.stderr.splitlines()[-1].endswith(
        f"version.py says that this is torch {served}, but the libraries in "
        f"{tmp_path / 'torch/lib'} are those of torch 2.99.7; install torch again"
    )


@needs_cc
def test_a_torch_of_which_a_library_is_missing(
    run_virtual, tmp_path: Path, runtime_folder: Path
) -> None:
    torch_with(tmp_path, "0", runtime_folder)
    (tmp_path / "torch/lib/libc10.so").unlink()
    done = run_virtual("import torch", check=False, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1 and "imported" not in done.stdout
    assert done.stderr.splitlines()[-1].endswith(
        "libc10.so cannot be loaded: No such file or directory. Install torch again"
    )


@needs_cc
def test_libraries_in_ld_library_path_are_not_mixed_with_ours(run_virtual, tmp_path: Path) -> None:
    for name in ("libtorchport_observer.so", "libtorchport.so"):
        library(
            tmp_path / name,
            "#include <stdio.h>\n"
            '__attribute__((constructor)) static void start(void) { puts("another"); }\n',
        )
    run = run_virtual(
        BINDINGS + "\nprint(torch.ones(2).cuda().sum().item())",
        devices="cuda:1",
        LD_LIBRARY_PATH=str(tmp_path),
    )
    assert run.stdout == "imported cpu\n2.0\n"


RIVAL = """
import torch
print("imported")
torch.utils.rename_privateuse1_backend("{kind}")
torch._register_device_module("{kind}", type(torch)("torch.{kind}"))
torch.utils.generate_methods_for_privateuse1_backend()
def _autoload(): pass
"""


@pytest.fixture
def rival(tmp_path: Path) -> Path:
    """A folder with a package torch_npu that torch imports by itself, as the real one."""
    folder = tmp_path / "packages"
    about = folder / "torch_npu-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: torch_npu\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[torch.backends]\ntorch_npu = torch_npu:_autoload\n")
    (folder / "torch_npu.py").write_text(RIVAL.format(kind="npu"))
    return folder


def test_the_rival_works_without_us(run_virtual, rival: Path) -> None:
    run = run_virtual("import torch; print(torch.npu)", devices=None, PYTHONPATH=str(rival))
    assert run.stdout.startswith("imported\n<module 'torch.npu'")


@pytest.mark.parametrize("devices", ["cuda:1", "npu:1"])
def test_torch_does_not_import_another_backend_beside_virtual_devices(
    run_virtual, rival: Path, devices: str
) -> None:
    code = (
        "import os, torch\n"
        f"print(torch.ones(2, device='{devices[:-2]}').sum().item())\n"
        "print(os.environ.get('TORCH_DEVICE_BACKEND_AUTOLOAD'))\n"
    )
    assert run_virtual(code, devices=devices, PYTHONPATH=str(rival)).stdout == "2.0\nNone\n"
    mine = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "1", "PYTHONPATH": str(rival)}
    assert run_virtual(code, devices=devices, **mine).stdout == "2.0\n1\n"


def test_a_program_that_imports_another_backend_is_told(run_virtual, rival: Path) -> None:
    code = (
        "import importlib.util, torch\n"
        "print(importlib.util.find_spec('torch_npu') is not None)\n"
        "print(importlib.util.find_spec('torch_mlu') is not None)\n"
        "try:\n    import torch_npu\n"
        "except ImportError as error:\n    print(error.name)\n"
        "import torch_npu\n"
    )
    done = run_virtual(code, check=False, PYTHONPATH=str(rival))
    assert (done.returncode, done.stdout) == (1, "True\nFalse\ntorch_npu\n"), done.stderr
    assert done.stderr.splitlines()[-1].startswith(
        "ImportError: torchport: torch_npu cannot be imported beside virtual devices"
    )


def test_programs_that_ask_for_the_stand_in_find_it(run_virtual, rival: Path) -> None:
    code = (
        "import importlib.util, torch\n"
        "assert importlib.util.find_spec('torch_npu') is not None\n"
        "import torch_npu; assert torch_npu.npu is torch.npu\n"
    )
    for path in (str(rival), ""):
        assert run_virtual(code, devices="npu:1", PYTHONPATH=path).stdout == ""
