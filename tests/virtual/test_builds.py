"""Builds and versions of torch: one with CUDA and one without are the same under virtual devices,
and a torch that is not known is refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from torchport import _releases, _runtimes

pytestmark = pytest.mark.own_process


def torch_at(folder: Path, version: str, cuda: str | None = None, git: str = "") -> Path:
    """A folder on Python's path with a torch that says when it is imported."""
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text("print('imported')\n")
    (folder / "torch" / "version.py").write_text(
        f"__version__ = '{version}'\ncuda: Optional[str] = {cuda!r}\ngit_version = '{git}'\n"
    )
    return folder


def link_files(source: Path, target: Path) -> None:
    for path in source.iterdir():
        if path.is_file():
            (target / path.name).symlink_to(path)


@pytest.fixture
def refusal(run_virtual):
    """refusal(**env): why `import torch` is refused, before any of torch's code runs."""

    def ask(**env: str) -> str:
        run = run_virtual("import torch", check=False, **env)
        assert run.returncode == 1 and "imported" not in run.stdout
        return run.stderr.split("UnsupportedTorch: ", 1)[1]

    return ask


@pytest.mark.parametrize("version", ["1.13.1+cu117", "2.6.0+cu124", "2.99.0"])
def test_another_torch_is_refused_before_anything_is_changed(
    refusal, tmp_path: Path, version: str
) -> None:
    said = refusal(PYTHONPATH=str(torch_at(tmp_path, version)))
    assert f"support torch {_runtimes.supported()}; this is torch {version} in " in said


def test_a_torch_of_another_revision_is_refused(refusal, tmp_path: Path) -> None:
    version = _releases.served_torches()[-1].version
    path = torch_at(tmp_path, f"{version}+mine", git="0123456789abcdef")
    said = refusal(PYTHONPATH=str(path))
    assert f"it is {version}+mine, but its source is 0123456789abcdef" in said
    assert f"pip install torch=={version}" in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "version.py: No such file or directory; install torch again"),
        ("", "version.py does not contain a version; install torch again"),
        ("\0\xff" * 9, "version.py does not contain a version; install torch again"),
    ],
)
def test_a_torch_that_was_half_installed(refusal, tmp_path: Path, text, why) -> None:
    version = torch_at(tmp_path, "2.13.0") / "torch/version.py"
    version.unlink()
    if text is not None:
        version.write_text(text, encoding="latin-1")
    assert why in refusal(PYTHONPATH=str(tmp_path))


def test_a_missing_runtime(refusal, tmp_path: Path, runtime_folder: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    link_files(runtime_folder.parent, folder)
    said = refusal(TORCHPORT_LIBRARY=str(folder))
    assert f"{folder / runtime_folder.name} is missing; install torchport again" in said


@pytest.fixture
def damaged(tmp_path: Path, runtime_folder: Path) -> Path:
    """A copy of the runtime by links, whose files a test replaces."""
    folder = tmp_path / "lib" / runtime_folder.name
    folder.mkdir(parents=True)
    link_files(runtime_folder.parent, folder.parent)
    link_files(runtime_folder, folder)
    return folder


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "runtime.json cannot be read: Expecting value"),
        ("[]", "belongs to another version of torchport than"),
        ('{"torchport": "0.0.1"}', "belongs to another version of torchport than"),
    ],
)
def test_a_runtime_of_another_installation(refusal, damaged: Path, text: str, why: str) -> None:
    about = damaged / "runtime.json"
    about.unlink()
    about.write_text(text)
    assert why in refusal(TORCHPORT_LIBRARY=str(damaged.parent))


@pytest.mark.parametrize("kept", [0, 100, 4096, -1000])
def test_a_damaged_library_is_refused(refusal, damaged: Path, kept: int) -> None:
    library = damaged / "libtorchport_virtual.so"
    whole = library.resolve().read_bytes()
    library.unlink()
    library.write_bytes(whole[:kept])
    said = refusal(TORCHPORT_LIBRARY=str(damaged.parent))
    assert f"{library} cannot be loaded: it " in said and said.endswith("Install torchport again\n")


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_library_that_needs_what_torch_lacks_runs_nothing(refusal, damaged: Path) -> None:
    library = damaged / "libtorchport_virtual.so"
    library.unlink()
    source = damaged / "library.c"
    source.write_text(
        "#include <stdio.h>\nvoid torch_lacks_this(void);\n"
        '__attribute__((constructor)) static void start(void) { puts("imported"); }\n'
        "void use(void) { torch_lacks_this(); }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    assert "undefined symbol: torch_lacks_this" in refusal(TORCHPORT_LIBRARY=str(damaged.parent))


def test_what_a_torch_says_of_itself(tmp_path: Path) -> None:
    with_cuda = _runtimes.Torch.at(torch_at(tmp_path, "2.12.1+cu130", "13.0", "ab") / "torch")
    assert (with_cuda.version, with_cuda.release) == ("2.12.1+cu130", "2.12.1")
    assert (with_cuda.git_version, with_cuda.has_cuda) == ("ab", True)
    assert with_cuda.libraries[-1].name == "libtorch_cuda.so"
    (tmp_path / "other").mkdir()
    without = _runtimes.Torch.at(torch_at(tmp_path / "other", "2.13.0+cpu") / "torch")
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
