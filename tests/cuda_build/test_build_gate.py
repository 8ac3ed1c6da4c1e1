"""The build gate against a torch with CUDA: real kernels, compiled by nvcc on a host without a GPU."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pytest

CPU = {"scale": [2.0, 4.0], "triple": [3.0, 6.0], "shift": [2.0, 3.0], "negate": [-1.0, -2.0]}


def torch_root() -> Path:
    return Path(importlib.util.find_spec("torch").origin).parent


pytestmark = [
    pytest.mark.skipif(
        "\ncuda: Optional[str] = '" not in (torch_root() / "version.py").read_text(),
        reason="torch is built for the CPU; `make test-cuda-build` has one with CUDA",
    ),
    pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc in the PATH"),
]


def assert_built_with_cuda(builds, site: Path, built_by: str, archs: list[str]) -> None:
    (file,) = site.glob("gate_demo/_C.*.so")
    told = builds.provenance(file)
    (one,) = told["provenance"]
    assert (one["built_by"], one["outcome"], one["code"]) == (built_by, "cuda", "nvcc-matches")
    # What the note promises is in the file.
    assert sorted(told["archs"]) == archs and told["contradiction"] == ""
    assert "libc10_cuda.so" in told["needed"]
    assert "PATH" not in builds.run("readelf", "-d", file).stdout
    answers = builds.use(site)
    assert answers["with_cuda"] and answers["cpu"] == CPU and not answers["available"]


def test_setuptools_builds_kernels_without_a_gpu(builds) -> None:
    site = builds.wheel(TORCH_CUDA_ARCH_LIST="8.0, 9.0+PTX")
    assert_built_with_cuda(builds, site, "setuptools", ["compute_90", "sm_80", "sm_90"])
    # A note that promises what was taken out is found out.
    (file,) = site.glob("gate_demo/_C.*.so")
    builds.run("objcopy", "--rename-section", ".nv_fatbin=.gone", file, "hollow.so")
    done = builds.run(builds.torchport, "build-plan", "--of", "hollow.so", check=False)
    assert done.returncode == 1 and "built with CUDA but has no kernels" in done.stdout


def configure_and_build(builds, site: Path, **env: str) -> str:
    module_path = builds.run(builds.torchport, "--cmake-dir").stdout.strip()
    configured = builds.run(
        *("cmake", "-S", ".", "-B", "b", "-G", "Ninja", f"-DCMAKE_MODULE_PATH={module_path}"),
        f"-DPython3_EXECUTABLE={sys.executable}",
        CMAKE_CUDA_COMPILER_LAUNCHER="ccache" if shutil.which("ccache") else "",
        **env,
    )
    builds.run("ninja", "-C", "b", "-j2")
    builds.run("cmake", "--install", "b", "--prefix", site)
    shutil.copy(builds.folder / "gate_demo" / "__init__.py", site / "gate_demo")
    return configured.stdout


def test_cmake_builds_kernels_without_a_gpu(builds, tmp_path: Path) -> None:
    said = configure_and_build(builds, tmp_path / "site", TORCH_CUDA_ARCH_LIST="Hopper")
    assert "torchport: cuda: torch " in said
    assert_built_with_cuda(builds, tmp_path / "site", "CMake", ["compute_90", "sm_90"])


def test_no_toolkit_and_a_torch_with_cuda(builds, stands_in, tmp_path: Path) -> None:
    for built_by in ("setuptools", "CMake"):
        site = tmp_path / built_by
        if built_by == "CMake":
            said = configure_and_build(builds, site, CUDA_HOME="/void")
            assert "torchport: cpu: CUDA_HOME=/void has no nvcc" in said
        else:
            shutil.move(builds.wheel(CUDA_HOME="/void"), site)
        (file,) = site.glob("gate_demo/_C.*.so")
        (one,) = builds.provenance(file)["provenance"]
        assert (one["built_by"], one["outcome"], one["code"]) == (built_by, "cpu", "no-toolkit")
        stands_in(builds.use(site, TORCHPORT_VIRTUAL="cuda:1"), "CUDA_HOME=/void has no nvcc")


def test_find_package_torch_needs_the_toolkit(builds) -> None:
    """Why Torchport.cmake goes without it."""
    (builds.folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\nfind_package(Torch REQUIRED)\n"
    )
    done = builds.run(
        *("cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={torch_root()}/share/cmake"),
        "-DCUDA_TOOLKIT_ROOT_DIR=/void",
        "-DCUDAToolkit_ROOT=/void",
        check=False,
        CUDA_HOME="/void",
        CUDA_PATH="/void",
        CUDACXX="/void/bin/nvcc",
        PATH="/usr/bin:/bin",
    )
    assert done.returncode != 0 and "CUDA" in done.stderr


UPSTREAM = """
import json, os
from torch.utils import cpp_extension

def flags():
    try:
        return sorted(cpp_extension._get_cuda_arch_flags())
    except (IndexError, ValueError) as error:
        return f"{type(error).__name__}: {error}"

before = flags()
from torchport.build import plan
from torchport.build._build_ext import _follow
decided = plan()
_follow(decided, cpp_extension)
print(json.dumps({"before": before, "after": flags(), "plan": decided._data["gencode"]}))
"""


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (None, "IndexError"),
        ("native", "IndexError"),
        ("8.0,9.0", "ValueError: Unknown CUDA arch (8.0,9.0)"),
        ("8.0;", "ValueError"),
    ],
)
def test_faults_of_cpp_extension_are_gone_by_the_plan(builds, given: str, fault: str) -> None:
    env = {} if given is None else {"TORCH_CUDA_ARCH_LIST": given}
    said = json.loads(builds.python("-c", UPSTREAM, **env).stdout.splitlines()[-1])
    assert said["before"].startswith(fault)
    assert said["after"] == sorted(said["plan"])


def test_forced_and_not_to_be_had(builds) -> None:
    done = builds.python("setup.py", "build_ext", CUDA_HOME="/void", FORCE_CUDA="1", check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "FORCE_CUDA=1 demands CUDA: CUDA_HOME=/void has no nvcc" in said
    assert "Traceback" not in said and not list(builds.folder.glob("**/*.so"))
