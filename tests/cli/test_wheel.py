"""The wheel is what users install: it has to carry the program, and to agree on the version."""

import subprocess
import sys
import venv
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The bin folder of a fresh environment with the wheel, and nothing else, in it."""
    dist = tmp_path_factory.mktemp("dist")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    options = ["--no-build-isolation", "--no-deps", "--wheel-dir", dist]
    # What `make build` compiled is packed, not compiled again; `make wheel` compiles its own.
    settings = {"build-dir": "build/release", "cmake.define.BUILD_TESTING": "ON"}
    options += [f"--config-settings={name}={value}" for name, value in settings.items()]
    subprocess.run([*pip, "wheel", *options, ROOT], check=True)
    wheel = next(dist.glob("torchport-*.whl"))
    home = tmp_path_factory.mktemp("home")
    venv.create(home, with_pip=False, symlinks=True)
    target = home / "bin" / "python"
    subprocess.run([*pip, "--python", target, "install", "--no-index", wheel], check=True)
    return home / "bin"


def test_virtual_devices_come_with_it(installed):
    home = installed.parent
    site = next(home.glob("lib/python*/site-packages"))
    assert (home / "lib" / "torchport" / "libtorchport_virtual.so").is_file()
    for name in ("libtorchport_observer.so", "libtorchport.so", "libtorchport_bindings.so"):
        assert (home / "lib" / "torchport" / name).is_file()
    assert (installed / "torchport-infer").is_file()
    assert (home / "lib" / "cmake" / "torchport" / "torchportConfig.cmake").is_file()
    assert (home / "include" / "torchport" / "device.h").is_file()
    assert "TORCHPORT_VIRTUAL" in (site / "torchport_virtual.pth").read_text()
    run = subprocess.run(
        [installed / "torchport", "run", "-q", "--", installed / "python", "-c", "import torch"],
        capture_output=True,
        text=True,
    )
    # This environment has no torch: the word on it is Python's own.
    assert "No module named 'torch'" in run.stderr and run.returncode == 1


def test_program_module_and_metadata_agree_on_the_version(installed):
    expected = version("torchport")
    assert expected in output(installed / "torchport", "--version")
    assert expected in output(installed / "python", "-m", "torchport", "--version")
    show = "import torchport; print(torchport.__version__)"
    assert output(installed / "python", "-c", show).strip() == expected


def test_cmake_finds_its_module(installed):
    folders = [
        output(installed / "torchport", "--cmake-dir"),
        output(installed / "python", "-m", "torchport.build", "--cmake-dir"),
    ]
    for folder in folders:
        assert "function(_torchport_decide)" in Path(folder.strip(), "Torchport.cmake").read_text()
    # By which scikit-build-core finds it without being told.
    show = "import importlib.metadata as m; print(m.entry_points(group='cmake.module'))"
    assert "torchport.build.cmake" in output(installed / "python", "-c", show)


def test_the_checkout_has_that_version_too():
    assert version("torchport") in output(Path(sys.executable).with_name("torchport"), "--version")


def test_the_program_takes_its_libraries_from_beside_it(installed):
    """Another distribution, or the image of a container, has other versions of them, or none."""
    own = installed.parent / "lib" / "torchport"
    linked = {
        line.split()[0]: Path(line.split()[2]).resolve()
        for line in output("ldd", installed / "torchport").splitlines()
        if "=>" in line
    }
    found = {name for name, path in linked.items() if path.parent == own.resolve()}
    assert {name.split(".")[0] for name in found} == {"libfmt", "libsqlite3", "libxxhash"}
    # What is left is glibc's, GCC's and zlib, which every image has that has Python.
    assert {name.split(".")[0] for name in linked.keys() - found} == {
        *("libc", "libm", "libstdc++", "libgcc_s", "libz")
    }
