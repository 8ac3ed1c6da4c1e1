"""torchport nvcc as a user meets it: its command line, CMake, errors."""

from __future__ import annotations

import os
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
import recorded
from torchport import _libraries

HERE = Path(__file__).parent
KERNEL = "__global__ void k(int* x) { x[threadIdx.x] = 1; }\n"


def nvcc(
    *words: object, folder: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [recorded.TORCHPORT, "nvcc", *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env=dict(os.environ, **environment),
        check=False,
    )


def test_help_and_version() -> None:
    assert "torchport nvcc x.cu -o x" in nvcc("--help").stdout
    assert "release 13.0, V13.0.88" in nvcc("--version").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no input file"),
        (["--no-such-flag"], "nvcc has no option --no-such-flag"),
        (["-gencod", "x"], 'did you mean "gencode"'),
        (["-ptx", "x.cu"], "-ptx asks for code of a GPU"),
        (["-o"], "-o needs a value"),
        (["-c", "missing.cu"], "there is no such file"),
        (["-x", "fortran", "x"], "the languages are c, c++ and cu"),
        (["@missing.rsp"], "this response file cannot be read"),
    ],
)
def test_wrong_words_are_named(words: list[str], said: str) -> None:
    done = nvcc(*words)
    assert done.returncode != 0
    assert said in done.stderr


def test_headers_of_the_toolkit_by_a_path_from_this_folder(tmp_path: Path) -> None:
    """ccache writes folders so, where it is told of a folder that is the root of all (CCACHE_BASEDIR)."""
    (tmp_path / "a.cu").write_text(KERNEL)
    include = _libraries.folder() / "cuda" / "include"
    folder = os.path.relpath(include, tmp_path)
    # GCC would write the absolute path where that is shorter.
    options = ("-isystem", folder, "-Xcompiler", "-fno-canonical-system-headers")
    done = nvcc(*options, "-c", "a.cu", "-o", "a.o", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    # A folder that is named twice is looked into once: it has to be this one that is used.
    expanded = nvcc(*options, "-E", "a.cu", folder=tmp_path).stdout
    assert f'"{folder}/torchport/rounding.h"' in expanded
    # Another build of torchport makes another object, which ccache has to see.
    assert re.search(r"static_assert\([^;]*0x[0-9a-f]{16}\b[^;]*the build of torchport", expanded)


def test_a_program_may_have_its_own_copy_of_cccl(tmp_path: Path) -> None:
    """Its nv/target is asked where code runs, so the toolkit's comes before it."""
    own = tmp_path / "own" / "nv"
    own.mkdir(parents=True)
    (own / "target").write_text("#define OWN_TARGET 1\n")
    (tmp_path / "a.cu").write_text("#include <nv/target>\nint own = OWN_TARGET;\n")
    listed = nvcc("-I", own.parent, "-M", tmp_path / "a.cu").stdout
    assert str(_libraries.folder() / "cuda" / "before_others" / "nv" / "target") in listed
    assert str(own / "target") in listed


def test_a_kernel_is_of_the_architecture_that_it_was_compiled_for(tmp_path: Path) -> None:
    """cub chooses by it among its settings; a device may be newer."""
    (tmp_path / "a.cu").write_text(
        "#include <cstdio>\n" + KERNEL + "int main() {\n  cudaFuncAttributes a;\n"
        '  cudaFuncGetAttributes(&a, k);\n  std::printf("%d %d", a.ptxVersion, a.binaryVersion);\n}\n'
    )
    done = nvcc("-arch=sm_75", tmp_path / "a.cu", "-o", tmp_path / "a")
    assert done.returncode == 0, done.stderr
    run = subprocess.run([tmp_path / "a"], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout == "75 75"


def test_errors_are_at_the_lines_of_the_user(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(
        "#include <cstdio>\n" + KERNEL + "int main() {\n  k<<<1,\n  2>>>(nothing);\n}\n"
    )
    done = nvcc("-c", source, "-o", tmp_path / "a.o")
    assert done.returncode == 1
    assert f"{source}:5:" in done.stderr or f"{source}:4:" in done.stderr
    assert "was not declared in this scope" in done.stderr
    source.write_text(KERNEL + "int main() {\n  k<<<1, 2;\n}\n")
    done = nvcc("-c", source, "-o", tmp_path / "a.o")
    assert "the launch `<<<` has no `>>>`" in done.stderr
    assert f"{source}:3" in done.stderr


def test_a_missing_compiler_is_one_sentence(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(KERNEL)
    done = nvcc("-c", source, "-ccbin", "no-such-compiler", "-o", tmp_path / "a.o")
    assert done.stderr.strip().count("\n") == 0
    assert "there is no host compiler no-such-compiler (Debian: apt install g++)" in done.stderr


@pytest.mark.skipif(
    find_spec("nvidia") is not None and find_spec("nvidia.cuda_cccl") is not None,
    reason="cub is installed",
)
def test_what_cub_needs_is_said(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text("#include <cub/cub.cuh>\n")
    done = nvcc("-c", source, "-o", tmp_path / "a.o")
    assert done.returncode == 1
    assert "pip install nvidia-cuda-cccl-cu12==12.9.27" in done.stderr


def test_dependencies_response_files_and_joined_flags(tmp_path: Path) -> None:
    header, source = tmp_path / "h.cuh", tmp_path / "a.cu"
    header.write_text("constexpr int kValue = VALUE;\n")
    source.write_text('#include "h.cuh"\n' + KERNEL)
    (tmp_path / "flags.rsp").write_text("-DVALUE=3 --expt-extended-lambda\n-Xcompiler -Wall,-fPIC")
    out = tmp_path / "a.o"
    done = nvcc(
        f"@{tmp_path / 'flags.rsp'}", "-gencode=arch=compute_80,code=sm_80", "-t4", "-MD", "-MF",
        tmp_path / "a.d", "-c", source, "-o", out,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rule = (tmp_path / "a.d").read_text()
    assert rule.startswith(f"{out}:")
    assert str(header) in rule


def test_device_code_of_two_files(tmp_path: Path) -> None:
    (tmp_path / "one.cu").write_text(
        "__device__ int value = 4;\n__device__ int twice() { return value * 2; }\n"
    )
    (tmp_path / "two.cu").write_text(
        "#include <cstdio>\nextern __device__ int twice();\n"
        "__global__ void k(int* x) { *x = twice(); }\n"
        "int main() { int* x; cudaMallocManaged(&x, 4); k<<<1, 1>>>(x); cudaDeviceSynchronize();"
        ' printf("value: %d\\n", *x); }\n'
    )
    objects = []
    for name in ("one", "two"):
        objects.append(tmp_path / f"{name}.o")
        done = nvcc("-dc", tmp_path / f"{name}.cu", "-o", objects[-1])
        assert done.returncode == 0, done.stderr
    program = tmp_path / "program"
    assert nvcc(*objects, "-o", program).returncode == 0
    assert recorded.run(program, "") == {"value": "8"}


def test_cmake_finds_the_language_and_the_toolkit(tmp_path: Path) -> None:
    start = [recorded.TORCHPORT, "run", "-q", "--profile", "t4", "--"]
    for command in (
        ["cmake", "-S", HERE / "project", "-B", tmp_path / "b"],
        ["cmake", "--build", tmp_path / "b"],
    ):
        done = subprocess.run([*start, *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    for program, said in (("app", "198\n"), ("host", "Tesla T4\n")):
        done = subprocess.run(
            [*start, tmp_path / "b" / program], capture_output=True, text=True, check=True
        )
        assert done.stdout == said
