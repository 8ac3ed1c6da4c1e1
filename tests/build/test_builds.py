"""Extensions built by the gate against the torch of this environment, which is one for the CPU."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest


def torch_root() -> Path:
    return Path(importlib.util.find_spec("torch").origin).parent


def has_cuda() -> bool:
    return "\ncuda: Optional[str] = '" in (torch_root() / "version.py").read_text()


of_the_cpu = pytest.mark.skipif(has_cuda(), reason="tests/cuda_build tests a torch with CUDA")


@of_the_cpu
def test_setuptools(builds, stands_in) -> None:
    site = builds.wheel()
    (file,) = site.glob("gate_demo/_C.*.so")
    told = builds.provenance(file)
    (one,) = told["provenance"]
    assert (one["extension"], one["built_by"], one["outcome"], one["code"]) == (
        "gate_demo._C",
        "setuptools",
        "cpu",
        "torch-for-cpu",
    )
    assert one["torch"].startswith("2.") and not told["kernels"]
    (wheel,) = builds.folder.glob("dist/*.whl")
    assert builds.provenance(wheel)["libraries"][str(file.relative_to(site))] == told
    # torch says that there is a device, and what was built for none says what it lacks.
    answers = builds.use(site, TORCHPORT_VIRTUAL="cuda:1")
    assert answers["available"] and answers["file"] == str(file)
    stands_in(answers, "is built for the CPU")


@of_the_cpu
@pytest.mark.long
def test_scikit_build_core_and_cmake(builds, stands_in) -> None:
    (builds.folder / "setup.py").unlink()
    (builds.folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["scikit-build-core", "torchport", "torch"]\n'
        'build-backend = "scikit_build_core.build"\n'
        '[project]\nname = "gate-demo"\nversion = "1"\ndependencies = ["torch"]\n'
        '[tool.scikit-build]\nwheel.packages = ["gate_demo"]\nbuild-dir = "b"\n'
    )
    site = builds.wheel(CMAKE_GENERATOR="Ninja")
    (file,) = site.glob("gate_demo/_C.*.so")
    (one,) = builds.provenance(file)["provenance"]
    assert (one["built_by"], one["outcome"]) == ("CMake", "cpu")
    # No path of this machine leads to a torch: the process has one.
    dynamic = builds.run("readelf", "-d", file).stdout
    assert "libtorch_cpu.so" in dynamic and "PATH" not in dynamic
    stands_in(builds.use(site, TORCHPORT_VIRTUAL="cuda:1"), "is built for the CPU")
    # Nothing is compiled again by a second look, and a changed decision is one.
    assert "no work to do" in builds.run("ninja", "-C", "b").stdout


def configure(builds, *words: str, **env: str) -> subprocess.CompletedProcess:
    return builds.run(
        *("cmake", "-S", ".", "-B", "b", "-G", "Ninja", *words),
        f"-DCMAKE_MODULE_PATH={builds.run(builds.torchport, '--cmake-dir').stdout.strip()}",
        f"-DPython3_EXECUTABLE={sys.executable}",
        check=False,
        **env,
    )


@of_the_cpu
def test_demanded_cuda_is_refused_by_every_face(builds) -> None:
    wheel = builds.python("setup.py", "build_ext", FORCE_CUDA="1", check=False)
    cmake = configure(builds, TORCHPORT_BUILD="cuda")
    variable = configure(builds, "-DFORCE_CUDA=1")
    for done, demand in (
        (wheel, "FORCE_CUDA=1"),
        (cmake, "TORCHPORT_BUILD=cuda"),
        (variable, "FORCE_CUDA=1"),
    ):
        said = " ".join((done.stdout + done.stderr).split())
        assert done.returncode != 0
        assert "refusing to build" in said and f"{demand} demands CUDA" in said
        assert "Traceback" not in said and "CUDA_HOME environment variable is not set" not in said
    assert not list(builds.folder.glob("**/*.so"))


@of_the_cpu
def test_cmake_says_what_is_wrong_with_a_call(builds) -> None:
    lists = builds.folder / "CMakeLists.txt"
    whole = lists.read_text()
    for wrong, words in (
        ("torchport_torch_extension(_C SURCES a.cpp)", "unknown arguments SURCES"),
        ("torchport_torch_extension(_C)", "SOURCES is missing"),
    ):
        lists.write_text(whole.split("torchport_torch")[0] + wrong)
        done = configure(builds)
        assert done.returncode != 0 and words in done.stderr


def isolated(builds, folder: Path, version: str) -> tuple[Path, dict[str, str]]:
    """What pip's build isolation looks like: the Python of an environment with its own torch, which
    comes behind the torch of the build."""
    venv.create(folder, with_pip=False, symlinks=True)
    site = next(folder.glob("lib/python3*/site-packages"))
    (site / "torch").mkdir()
    (site / "torch" / "version.py").write_text(f"__version__ = '{version}'\n")
    packages = torch_root().resolve().parent
    package = importlib.util.find_spec("torchport").submodule_search_locations[0]
    paths = [str(packages), str(Path(package).parent)]
    return folder / "bin" / "python", {"PYTHONPATH": os.pathsep.join(paths)}


def test_another_torch_than_the_targets_is_refused(builds, tmp_path: Path) -> None:
    python, env = isolated(builds, tmp_path / "target", "2.0.1+cu118")
    done = builds.run(python, "setup.py", "build_ext", check=False, **env)
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "Traceback" not in said
    assert "refusing to build against torch 2." in said
    assert "the environment that the build was started from has torch 2.0.1+cu118" in said
    assert "--no-build-isolation" in said


def check_target(builds, python: Path | str, env: dict[str, str]) -> subprocess.CompletedProcess:
    words = ("-m", "torchport.build", "--check-target", torch_root(), "--project", builds.folder)
    return builds.run(python, *words, check=False, **env)


def test_what_tells_the_targets_torch(builds, tmp_path: Path) -> None:
    mine = (torch_root() / "version.py").read_text().split("__version__ = '")[1].split("'")[0]
    public = mine.split("+")[0]
    python, env = isolated(builds, tmp_path / "target", "2.0.1+cu118")
    setting = "TORCHPORT_TARGET_TORCH"
    project = builds.folder / "pyproject.toml"
    text = project.read_text()

    def said(requirement: str, **more: str) -> tuple[int, str]:
        project.write_text(text.replace('["torch"]', json.dumps([requirement])))
        done = check_target(builds, python, env | more)
        return done.returncode, done.stdout + done.stderr

    # An explicit word goes before what the environment has.
    for right in (mine, public, f"=={public}", ">=1.0", str(torch_root())):
        assert said("torch", **{setting: right}) == (0, ""), right
    for wrong, words in (
        ("1.13.1", "names another torch"),
        ("<2.0", "names another torch"),
        ("newest", "is neither a version, nor a specifier"),
        (str(tmp_path / "absent"), "torch was not found at"),
        (str(python), "the target has torch 2.0.1+cu118"),
    ):
        code, text_of = said("torch", **{setting: wrong})
        assert code == 1 and words in text_of, (wrong, text_of)
    # What the project requires holds in any case.
    code, words = said("torch<2", **{setting: mine})
    assert code == 1 and "the project requires torch<2" in words
    assert said('torch<2; python_version < "3"', **{setting: mine})[0] == 0
    assert said("not a requirement !", **{setting: mine})[0] == 0
    # The environment of the target, where nothing else is said.
    assert "has torch 2.0.1+cu118" in said("torch")[1]
    version = tmp_path.glob("target/lib/python3*/site-packages/torch/version.py")
    shutil.rmtree(next(version).parent)
    code, words = said("torch")
    assert code == 0 and "the target's torch is unknown" in words
    assert said(f"torch=={public}") == (0, "")
    project.write_text("[project\n")
    assert "pyproject.toml" in check_target(builds, python, env).stderr
    project.unlink()
    assert check_target(builds, sys.executable, {}).returncode == 0


def test_a_source_distribution_takes_no_torch(builds, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in ("setuptools", "_distutils_hack", "pkg_resources", "torchport"):
        found = importlib.util.find_spec(name)
        if found is not None:
            (packages / name).symlink_to(found.submodule_search_locations[0])
    metadata = Path(str(importlib.metadata.distribution("torchport")._path))
    (packages / metadata.name).symlink_to(metadata)
    home = tmp_path / "home"
    venv.create(home, with_pip=False, symlinks=True)
    env = {"PYTHONPATH": str(packages), "TORCHPORT_BUILD": "cuda"}
    builds.run(home / "bin" / "python", "setup.py", "-q", "sdist", **env)
    assert list(builds.folder.glob("dist/gate_demo-1.tar.gz"))
    done = builds.run(home / "bin" / "python", "setup.py", "build_ext", check=False, **env)
    said = done.stdout + done.stderr
    assert (
        done.returncode == 1 and "torch was not found, so there is nothing to build against" in said
    )
    assert "Traceback" not in said


def test_a_device_that_torch_sees_does_not_change_the_decision(builds) -> None:
    ask = (
        "import torch; seen = torch.cuda.is_available(); import torchport.build as b; "
        "print(seen); print(b.plan().text)"
    )
    seen, texts = set(), set()
    for env in ({}, {"TORCHPORT_VIRTUAL": "cuda:1"}):
        first, _, rest = builds.python("-c", ask, **env).stdout.partition("\n")
        seen.add(first)
        texts.add(rest)
    assert seen == {"False", "True"} and len(texts) == 1
    plan = json.loads(texts.pop())
    assert plan["inputs"]["torch"]["root"] == str(torch_root().resolve())
    assert plan["outcome"] == "cpu" or has_cuda()


# cuda_headers() of src/build_gate/build_headers.cpp.
CUDA_HEADERS = (
    "cuda_runtime_api.h", "cublas_v2.h", "cublasLt.h", "cusparse.h", "cusolverDn.h", "cuda_fp16.h",
    "cuda_bf16.h", "thrust/complex.h",
)  # fmt: skip


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc in the PATH")
def test_nvcc_compiles_by_the_plan(builds, tmp_path: Path) -> None:
    release = builds.run("nvcc", "--version").stdout.split("release ")[1].split(",")[0]
    torch = tmp_path / "torch"
    (torch / "lib").mkdir(parents=True)
    (torch / "version.py").write_text(f"__version__ = '2.13.0'\ncuda = '{release}'\n")
    (torch / "lib" / "libtorch_python.so").write_bytes(b"\0sm_80 sm_90\0")
    # A toolkit with all headers that extensions include; those of nvcc itself are its own.
    toolkit = tmp_path / "cuda"
    for name in (*CUDA_HEADERS, "cuda_runtime.h"):
        (toolkit / "include" / name).parent.mkdir(parents=True, exist_ok=True)
        (toolkit / "include" / name).touch()
    (toolkit / "bin").mkdir()
    (toolkit / "bin" / "nvcc").write_text(f'#!/bin/sh\nexec {shutil.which("nvcc")} "$@"\n')
    (toolkit / "bin" / "nvcc").chmod(0o755)
    words = ("build-plan", "--json", "--torch", torch)
    env = {"TORCHPORT_BUILD": "cuda", "CUDA_HOME": str(toolkit)}
    plan = json.loads(builds.run(builds.torchport, *words, **env).stdout)
    assert plan["archs"] == "8.0;9.0+PTX"
    (tmp_path / "k.cu").write_text("__global__ void k(float* x) { x[threadIdx.x] *= 2; }\n")
    builds.run(plan["nvcc"], *plan["gencode"], "-c", tmp_path / "k.cu", "-o", tmp_path / "k.o")
    done = builds.run(
        builds.torchport, "build-plan", "--json", "--of", tmp_path / "k.o", check=False
    )
    told = json.loads(done.stdout)
    assert done.returncode == 1 and told["provenance"] == []
    assert sorted(told["archs"]) == ["compute_90", "sm_80", "sm_90"]
