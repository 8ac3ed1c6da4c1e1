"""The wheel is what users install: it has to carry the program, and to agree on the version."""

import os
import re
import shutil
import subprocess
import sys
import venv
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build/release/CMakeCache.txt"
PORTABLE = CACHE.exists() and "TORCHPORT_PORTABLE:BOOL=ON" in CACHE.read_text()
portable = pytest.mark.skipif(not PORTABLE, reason="the build is for this system only")


def package_of(scripts: Path) -> Path:
    return next(scripts.parent.glob("lib/python*/site-packages/torchport"))


# No other environment may serve where one without torch is tested.
ALONE = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
ALONE["PATH"] = os.pathsep.join(
    folder
    for folder in ALONE["PATH"].split(os.pathsep)
    if Path(folder) != Path(sys.executable).parent
)


def run(*command, **options):
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=ALONE, **options
    )


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, env=ALONE).stdout


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The bin folder of a fresh environment with the wheel, and nothing else, in it."""
    assert not PORTABLE or wheel.stem.endswith("-manylinux_2_28_x86_64")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    home = tmp_path_factory.mktemp("home")
    venv.create(home, with_pip=False, symlinks=True)
    target = home / "bin" / "python"
    subprocess.run([*pip, "--python", target, "install", "--no-index", wheel], check=True)
    return home / "bin"


def test_everything_comes_with_it(installed, runtime_folder):
    package = package_of(installed)
    for path in runtime_folder.iterdir():
        assert (package / "lib" / runtime_folder.name / path.name).is_file()
    for name in (
        "lib/device_kinds.json",
        "lib/source/KEY",
        "lib/source/src/runtime/virtual/CMakeLists.txt",
        "lib/cmake/torchport/torchportConfig.cmake",
        "build/cmake/Torchport.cmake",
        "include/torchport/device.h",
    ):
        assert (package / name).is_file()
    assert "TORCHPORT_VIRTUAL" in (package.parent / "torchport_virtual.pth").read_text()
    ours = ROOT / "python/torchport"
    for path in ours.rglob("*.py"):
        assert (package / path.relative_to(ours)).is_file(), path
    # Nothing else of it is in the environment: pip's --target and --user bring all of it.
    assert sorted(path.name for path in installed.glob("torchport*")) == ["torchport"]
    assert not list(installed.parent.glob("lib/torchport*"))


NEED_TORCH = {
    "verify": ["model.py:make"],
    "export": ["model.py:make", "--input", "model.py:data", "--to", "onnx", "--output", "m.onnx"],
    "bench": ["model.py:make", "--input", "model.py:data"],
    "infer": ["model.pt2", "data.safetensors"],
}


@pytest.mark.parametrize("command", sorted(NEED_TORCH))
def test_a_command_that_needs_torch_says_which_it_supports(installed, tmp_path, command):
    (tmp_path / "model.py").write_text("import torch\n")
    done = run(installed / "torchport", command, *NEED_TORCH[command], cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert " has no torch" in done.stderr and "2.13.0" in done.stderr
    assert "Traceback" not in done.stderr and done.stderr.count("\n") == 1


def test_a_program_that_imports_torch_hears_it_from_python(installed):
    words = ["run", "-q", "--", installed / "python", "-c", "import torch"]
    done = run(installed / "torchport", *words)
    assert "No module named 'torch'" in done.stderr and done.returncode == 1


def test_the_rest_works_without_torch(installed, tmp_path):
    (tmp_path / "train.py").write_text("import torch\nx = torch.ones(2).cuda()\n")
    (tmp_path / "requirements.txt").write_text("torch\n")
    for words, code in (
        (["check", "."], 1),
        (["fix", "--diff", "."], 0),
        (["explain", "TP101"], 0),
        (["doctor", "--json"], None),
        (["container", ".", "--device", "cpu", "--entry", "train.py"], 0),
        (["ci", "."], 0),
    ):
        done = run(installed / "torchport", *words, cwd=tmp_path)
        assert done.returncode == code or (code is None and done.returncode < 2), (words, done)


def test_program_module_and_metadata_agree_on_the_version(installed):
    expected = version("torchport")
    assert expected in output(installed / "torchport", "--version")
    assert expected in output(installed / "python", "-m", "torchport", "--version")
    show = "import torchport; print(torchport.__version__)"
    assert output(installed / "python", "-c", show).strip() == expected


def test_cmake_finds_its_module(installed):
    prefix = output(installed / "torchport", "--cmake-prefix").strip()
    assert Path(prefix) == package_of(installed)
    folders = [
        output(installed / "torchport", "--cmake-dir"),
        output(installed / "python", "-m", "torchport.build", "--cmake-dir"),
    ]
    for folder in folders:
        assert "function(_torchport_decide)" in Path(folder.strip(), "Torchport.cmake").read_text()
    # By which scikit-build-core finds it without being told.
    show = "import importlib.metadata as m; print(m.entry_points(group='cmake.module'))"
    assert "torchport.build.cmake" in output(installed / "python", "-c", show)


@portable
def test_the_readme_starts_with_this_wheel(wheel):
    readme = (ROOT / "README.md").read_text()
    first = readme.split("```sh\n")[1].splitlines()[0]
    assert first == f"pip install {wheel.name}"


def test_the_checkout_has_that_version_too():
    assert version("torchport") in output(Path(sys.executable).with_name("torchport"), "--version")


PROGRAM = """
import os, sys, torch
print(torch.cuda.get_device_name(), torch.ones(2).cuda().sum().item(), sys.prefix)
import torchport
print(torchport.choose_device("cuda").device)
"""


def test_a_tool_of_its_own_serves_the_environment_with_torch(installed, tmp_path, torch_folder):
    """As pipx and `uv tool` install it: torchport has an environment without torch, and the active
    one has torch but no torchport."""
    home = tmp_path / "active"
    venv.create(home, with_pip=False, symlinks=True)
    site = next(home.glob("lib/python*/site-packages"))
    for package in torch_folder.parent.iterdir():
        if "torchport" not in package.name and not package.name.endswith(".pth"):
            (site / package.name).symlink_to(package)
    (tmp_path / "program.py").write_text(PROGRAM)
    env = ALONE | {"VIRTUAL_ENV": str(home)}
    done = subprocess.run(
        [installed / "torchport", "run", "-q", "--devices", "cuda:1", "program.py"],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == f"NVIDIA A100-SXM4-80GB 2.0 {home}\ncuda:0\n", done.stderr


def test_pip_install_target(installed, tmp_path):
    """The files lie in a folder that Python does not read .pth files from."""
    package = package_of(installed)
    target = tmp_path / "a folder of müsli"
    (target / "bin").mkdir(parents=True)
    shutil.copytree(package, target / "torchport")
    shutil.copy2(installed / "torchport", target / "bin")
    (tmp_path / "program.py").write_text(PROGRAM)
    env = ALONE | {"PATH": f"{Path(sys.executable).parent}:{ALONE['PATH']}"}
    done = subprocess.run(
        [target / "bin/torchport", "run", "-q", "--devices", "cuda:1", "program.py"],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == f"NVIDIA A100-SXM4-80GB 2.0 {sys.prefix}\ncuda:0\n", done.stderr


# The newest versions of the policy manylinux_2_28, and the libraries that a system of that age has.
LIMITS = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}
GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"}
GLIBC |= {"ld-linux-x86-64.so.2"}
SYSTEM = GLIBC | {"libstdc++.so.6", "libgcc_s.so.1"}
TORCH = {"libtorch_cpu.so", "libc10.so"}
OWN = {
    "libtorchport.so",
    "libtorchport_observer.so",
    "libtorchport_cuda.so",
    "libtorchport_cuda_shared_memory.so",
    "libtorchport_curand.so",
}


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
        # These need no version of the system's: one has only memory, one its name, one calls another.
        empty = (
            "libtorchport_cuda_check.so",
            "libtorchport_cuda_shared_memory.so",
            "libvirtual_devices_need_torchport_run.so",
        )
        assert needs or path.name in empty, path
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
    environment = ALONE | {"TORCHPORT_CACHE_DIR": str(tmp_path / "cache")}

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
