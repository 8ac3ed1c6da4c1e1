"""The wheel is what users install: it has to carry the program, and to agree on the version."""

import os
import re
import subprocess
import sys
import venv
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build/release/CMakeCache.txt"
PORTABLE = CACHE.exists() and "TORCHPORT_PORTABLE:BOOL=ON" in CACHE.read_text()


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
    if PORTABLE:
        wheel = next(dist.glob("torchport-*.whl"))
        subprocess.run([sys.executable, ROOT / ".ci/tag_wheel.py", wheel], check=True)
        assert next(dist.glob("torchport-*.whl")).stem.endswith("-manylinux_2_28_x86_64")
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
    for name in ("libtorchport_observer.so", "libtorchport.so", "_C.so"):
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


# The newest versions of the policy manylinux_2_28, and the libraries that a system of that age has.
LIMITS = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}
GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"}
GLIBC |= {"ld-linux-x86-64.so.2"}
SYSTEM = GLIBC | {"libstdc++.so.6", "libgcc_s.so.1"}
TORCH = {"libtorch_cpu.so", "libc10.so", "libtorch_python.so"}
OWN = {"libtorchport.so", "libtorchport_observer.so"}

portable = pytest.mark.skipif(not PORTABLE, reason="the build is for this system only")


def binaries(installed):
    home = installed.parent
    files = [installed / "torchport", *home.rglob("torchport-infer"), *home.rglob("*.so")]
    return {path.resolve() for path in files if path.read_bytes().startswith(b"\x7fELF")}


def linked(binary):
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-dW", binary)))


@portable
def test_no_binary_needs_a_newer_system_than_the_tag_says(installed):
    names = {path.name for path in binaries(installed)}
    assert {"torchport", "torchport-infer", "libtorchport.so", "libtorchport_virtual.so"} <= names
    newer = []
    for path in binaries(installed):
        needs = re.findall(r"Name: ([A-Z]+)_([0-9.]+)", output("readelf", "-VW", path))
        assert needs, path
        for family, number in needs:
            if tuple(map(int, number.split("."))) > LIMITS[family]:
                newer.append((path.name, f"{family}_{number}"))
        assert linked(path) <= SYSTEM | TORCH | OWN, path
    assert not newer


@portable
def test_the_program_links_nothing_but_glibc(installed):
    """An image of a container may have no C++ library."""
    assert linked(installed / "torchport") <= GLIBC


@portable
def test_the_libraries_hide_what_they_contain_of_others(installed):
    """torch and Python have zlib, fmt and libstdc++ of their own, in other versions."""
    for path in binaries(installed):
        table = output("nm", "-D", "--defined-only", path)
        found = re.findall(
            r"(?m) [A-Za-z] (inflate|unz\w+|XXH\w+|sqlite3_\w+|stat|_ZN3fmt2v9\w+)$", table
        )
        assert not found, (path.name, found)
        assert "from_chars" not in table, path.name


def test_the_program_from_the_wheel_works(installed, tmp_path):
    program = installed / "torchport"
    (tmp_path / "a.py").write_text("import torch\nx = torch.zeros(2).cuda()\n")
    header = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    weights = len(header).to_bytes(8, "little") + header + bytes(4)
    (tmp_path / "w.safetensors").write_bytes(weights)
    environment = os.environ | {"TORCHPORT_CACHE_DIR": str(tmp_path / "cache")}

    def run(*words):
        done = subprocess.run(
            [program, *words], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        return done.returncode, done.stdout

    first = run("check", "a.py")
    assert first[0] == 1 and "TP1" in first[1]
    assert list((tmp_path / "cache").glob("*.sqlite"))
    assert run("check", "a.py") == first
    assert run("check", "--no-such-option")[0] == 2  # an exception inside of the program
    code, text = run("inspect", "--json", "w.safetensors")
    assert code == 0 and "float32" in text
