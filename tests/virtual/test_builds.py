"""Builds and versions of torch: one with CUDA and one without are the same under virtual devices,
and a torch that is not known is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from torchport.virtual import _builds


def torch_at(folder: Path, version: str, cuda: str | None = None) -> Path:
    """A folder on Python's path with a torch that says when it is imported."""
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text("print('imported')\n")
    (folder / "torch" / "version.py").write_text(
        f"__version__ = '{version}'\ncuda: Optional[str] = {cuda!r}\n"
    )
    return folder


@pytest.mark.parametrize("version", ["1.13.1+cu117", "2.12.0+cu130", "2.14.0"])
def test_another_torch_is_refused_before_anything_is_changed(
    run_virtual, tmp_path: Path, version: str
) -> None:
    path = torch_at(tmp_path, version)
    run = run_virtual("import torch", check=False, PYTHONPATH=str(path))
    said = "UnsupportedTorch: torchport: virtual devices support torch 2.12.1 and 2.13.0; this is torch "
    assert said + version in run.stderr
    assert "imported" not in run.stdout


def test_a_library_for_another_torch_is_refused(run_virtual, tmp_path: Path) -> None:
    library = tmp_path / "libtorchport_virtual.so"
    library.write_bytes(b"\0torchport: built for torch 2.13.0+rocm9.9;\0")
    run = run_virtual("import torch", check=False, TORCHPORT_VIRTUAL_LIBRARY=str(library))
    assert f"{library} was built for torch 2.13.0+rocm9.9; this is " in run.stderr


def test_what_a_torch_says_of_itself(tmp_path: Path) -> None:
    with_cuda = _builds.Torch.at(torch_at(tmp_path, "2.12.1+cu130", "13.0") / "torch")
    assert (with_cuda.version, with_cuda.has_cuda) == ("2.12.1+cu130", True)
    assert with_cuda.libraries[-1].name == "libtorch_cuda.so"
    (tmp_path / "other").mkdir()
    without = _builds.Torch.at(torch_at(tmp_path / "other", "2.13.0+cpu") / "torch")
    assert not without.has_cuda and without.libraries[-1].name == "libtorch_cpu.so"


def test_no_kernel_of_a_real_device_is_left(run_virtual) -> None:
    run_virtual(Path("kernels_of_real_devices.py"), devices="cuda:1")


HIDDEN = """
import torch, torch.distributed
assert not torch.cuda.is_available() and not torch.backends.cuda.is_built()
assert not torch.backends.cudnn.is_available() and not torch.distributed.is_nccl_available()
assert torch.version.cuda is None and torch.cuda.device_count() == 0
assert torch.accelerator.current_accelerator() is None
assert torch.backends.cudnn.version() is None
for ask, words in (
    (lambda: torch.Generator("cuda"), "without ATen_cuda library"),
    (lambda: torch.ones(1).pin_memory(), "accelerator"),
    (lambda: torch.cuda.FloatTensor(1), "Torch not compiled with CUDA enabled"),
    (lambda: torch.cuda.nvtx.range_push("a"), "Are you sure you have a CUDA build?"),
):
    try:
        ask()
        raise SystemExit(f"no {words}")
    except (RuntimeError, TypeError, AssertionError) as error:
        assert words in str(error), error
for make in (lambda: torch.ones(1).cuda(), lambda: torch.ones(1, device="cuda")):
    try:
        make()
        raise SystemExit("there is a device")
    except AssertionError as error:
        assert str(error) == "Torch not compiled with CUDA enabled"
"""


def test_hidden_cuda_is_a_build_without(run_virtual) -> None:
    run_virtual(HIDDEN, devices="none")
