"""Kernels of the program's own, and calls of CUDA's runtime, on devices without data: what is given memory
without values is not run. Triton's kernels are in tests/triton_language/test_without_data.py."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from planning_programs import PROGRAM, torchport

KERNELS = Path(__file__).parent / "programs" / "kernels.cu"

BEGIN = """
import ctypes, pathlib, resource, torch
from torchport import _runtimes
from torchport.virtual.kernels import extensions
extensions.load_libraries(_runtimes.find(_runtimes.Torch.at(pathlib.Path(torch.__file__).parent)))
library = ctypes.CDLL("{library}")
library.take.restype = ctypes.c_void_p
at = lambda given: ctypes.c_void_p(given.data_ptr() if isinstance(given, torch.Tensor) else given)
long, real = ctypes.c_long, ctypes.c_float
TO_DEVICE, TO_HOST, ON_DEVICE = 1, 2, 3
LARGE = 1 << 28
def numbers(size, fill=0.0):
    return torch.full((size,), float(fill), device="cuda")
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("kernels") / "kernels.so"
    command = [PROGRAM, "nvcc", "-shared", "-Xcompiler", "-fPIC", KERNELS, "-o", built]
    subprocess.run([*command, "-lcublas", "-lcurand"], check=True, timeout=200)
    return built


def planned(
    folder: Path, library: Path, code: str
) -> tuple[list[str], list[tuple[str, str, int, int]]]:
    """What a program prints, and what the plan says of missing values: kind, name, line and count."""
    begin = BEGIN.format(library=library)
    (folder / "program.py").write_text(begin + code)
    done = torchport(
        "plan", "--profile", "h100-80g", "--format", "json", "program.py", folder=folder
    )
    assert done.returncode == 0, done.stderr
    words, _, text = done.stdout.partition("{\n")
    plan: dict[str, Any] = json.loads("{" + text)
    first = len(begin.splitlines())
    return words.split(), [
        (one["kind"], one["operator"], int(one["line"].rpartition(":")[2]) - first, one["count"])
        for one in plan["missing_values"]
    ]


def test_a_launch_without_values_is_not_run(tmp_path: Path, library: Path) -> None:
    code = (
        "x, small = numbers(LARGE), numbers(8, 3)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for _ in range(2):\n"
        "    library.launch_add_one(at(x), at(x[5:]), long(LARGE - 5))\n"
        "library.launch_wait(at(x))\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before >> 10) < 50)\n"
        "library.launch_add_one(at(small), at(small), long(8))\n"  # has its values
        "print(small[7].item())\n"
    )
    words, missing = planned(tmp_path, library, code)
    assert words == ["True", "4.0"]
    assert missing == [("kernel not run", "add_one", 4, 2), ("kernel not run", "wait", 5, 1)]


def test_small_results_count_as_not_there_wherever_they_go(tmp_path: Path, library: Path) -> None:
    code = (
        "x, small, other = numbers(LARGE), numbers(8, 3), torch.empty(8, device='cuda')\n"
        "library.launch_add_one(at(x), at(small), long(8))\n"
        "library.launch_add_one(at(small), at(other), long(8))\n"
        "taken = library.take(32)\n"
        "library.launch_add_one(at(other), at(taken), long(8))\n"
        "last = numbers(8)\n"
        "library.launch_add_one(at(taken), at(last), long(8))\n"
        "print(small[0].item(), other[0].item())\n"
    )
    words, missing = planned(tmp_path, library, code)
    assert words == ["3.0", "0.0"]
    assert [one for one in missing if one[0] == "kernel not run"] == [
        ("kernel not run", "add_one", line, 1) for line in (2, 3, 5, 7)
    ]
    assert [one[3] for one in missing if one[0] == "read"] == [2]


def test_a_table_of_addresses_is_looked_into(tmp_path: Path, library: Path) -> None:
    code = (
        "large, small = [numbers(LARGE) for _ in range(2)], [numbers(8) for _ in range(2)]\n"
        "for them in (large, small):\n"
        "    table = torch.tensor([one.data_ptr() for one in them]).cuda()\n"
        "    library.launch_fill(at(table), 2, long(them[0].numel()), real(1.5))\n"
        "print(small[1][7].item())\n"
    )
    words, missing = planned(tmp_path, library, code)
    assert words == ["1.5"]
    assert missing == [("kernel not run", "fill", 4, 1)]


def test_copies_and_fills(tmp_path: Path, library: Path) -> None:
    code = (
        "x, small, host = numbers(LARGE), numbers(8, 3), torch.ones(8)\n"
        "assert library.copy(at(x), at(host), 32, TO_DEVICE) == 0\n"
        "assert library.copy(at(host), at(x), 32, TO_HOST) == 0\n"
        "print(host.tolist() == [0] * 8)\n"
        "assert library.copy(at(host), at(small), 32, TO_HOST) == 0\n"  # has its values
        "print(host[7].item())\n"
        "assert library.copy(at(x), at(small), 32, ON_DEVICE) == 0\n"
        "assert library.copy(at(small), at(x), 32, ON_DEVICE) == 0\n"
        "print(small[0].item())\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "assert library.set(at(x), 1, ctypes.c_size_t(4 * LARGE)) == 0\n"
        "taken = library.take(ctypes.c_size_t(4 * LARGE))\n"
        "assert library.set(at(taken), 1, ctypes.c_size_t(4 * LARGE)) == 0\n"
        "assert library.copy(at(taken), at(x), ctypes.c_size_t(4 * LARGE), ON_DEVICE) == 0\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before >> 10) < 50)\n"
    )
    words, missing = planned(tmp_path, library, code)
    assert words == ["True", "3.0", "0.0", "True"]
    assert ("read", "cudaMemcpy", 3, 1) in missing
    assert not [one for one in missing if one[2] == 5]


def test_memory_of_cuda_without_values(tmp_path: Path, library: Path) -> None:
    code = (
        "x, taken = numbers(1), library.take(ctypes.c_size_t(4 * LARGE))\n"
        "library.launch_add_one(at(taken), at(taken), long(LARGE))\n"
        "small = library.take(32)\n"
        "host = torch.ones(8)\n"
        "library.copy(at(small), at(host), 32, TO_DEVICE)\n"
        "library.launch_add_one(at(small), at(small), long(8))\n"
        "library.copy(at(host), at(small), 32, TO_HOST)\n"
        "print(host[7].item())\n"
    )
    words, missing = planned(tmp_path, library, code)
    assert words == ["2.0"]
    assert missing == [("kernel not run", "add_one", 2, 1)]


def test_libraries(tmp_path: Path, library: Path) -> None:
    code = (
        "x = numbers(1 << 28)\n"
        "assert library.multiply(at(x), at(x), at(x), 1 << 14) == 0\n"
        "assert library.draw(at(x), ctypes.c_size_t(1 << 28)) == 0\n"
        "a, b = torch.eye(8, device='cuda'), numbers(64, 2)\n"
        "c = numbers(64)\n"
        "assert library.multiply(at(a), at(b), at(c), 8) == 0\n"
        "print(c[63].item())\n"
        "assert library.draw(at(c), ctypes.c_size_t(64)) == 0\n"
        "print(0 < c[0].item() < 1)\n"
    )
    words, missing = planned(tmp_path, library, code)
    assert words == ["2.0", "True"]
    assert missing == [
        ("kernel not run", "cublasGemm", 2, 1),
        ("kernel not run", "curandGenerate", 3, 1),
    ]


def test_functions_of_jiterator_and_compiled_kernels(tmp_path: Path, library: Path) -> None:
    code = (
        "x, small = numbers(LARGE), numbers(8, 3)\n"
        "double = torch.cuda.jiterator._create_jit_fn('template <class T> T f(T x) { return x + x; }')\n"
        "double(x)\n"
        "print(double(small)[7].item())\n"
        "text = 'extern \"C\" __global__ void once(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] += 1; }'\n"
        "once = torch.cuda._compile_kernel(text, 'once')\n"
        "once(grid=(1, 1, 1), block=(8, 1, 1), args=[x, 8])\n"
        "once(grid=(1, 1, 1), block=(8, 1, 1), args=[small, 8])\n"
        "print(small[7].item())\n"
    )
    words, missing = planned(tmp_path, library, code)
    assert words == ["6.0", "4.0"]
    assert missing == [("kernel not run", "jiterator", 3, 1), ("kernel not run", "once", 7, 1)]
