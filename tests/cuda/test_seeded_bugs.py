"""`torchport run --check-kernels`: programs with one bug each, whose lines say which; nothing else is found."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
from recorded import TORCHPORT

SEEDED = Path(__file__).parent / "seeded"
MARK = re.compile(r"// BUG (\d+) (.+)$")
# torchport: race: bounds.cu:12: thread ..., which ... read at bounds.cu:9; ...
FINDING = re.compile(r"^torchport: (?P<cause>[a-z ]+): (?P<text>.*)$", re.MULTILINE)


def cases() -> list[tuple[str, int, dict[str, set[int]]]]:
    """Programs, the numbers of their cases, and the lines of each cause."""
    found = []
    for path in sorted(SEEDED.glob("*.cu")):
        bugs: dict[int, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if mark := MARK.search(line):
                bugs[int(mark[1])][mark[2]].add(number)
        found += [(path.name, number, causes) for number, causes in sorted(bugs.items())]
    return found


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("seeded")
    built: dict[str, Path] = {}

    def build(name: str) -> Path:
        if name not in built:
            built[name] = folder / Path(name).stem
            command = [TORCHPORT, "nvcc", "--check-kernels", "-w", SEEDED / name, "-o", built[name]]
            subprocess.run(command, check=True, timeout=300)
        return built[name]

    return build


def checked(*command: object, folder: Path = SEEDED) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TORCHPORT, "run", "-q", "--check-kernels", "--", *map(str, command)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def findings(run: subprocess.CompletedProcess[str]) -> list[tuple[str, str]]:
    return [
        (match["cause"], match["text"])
        for match in FINDING.finditer(run.stderr)
        if match["cause"] != "kernels were checked in"
    ]


@pytest.mark.parametrize(("name", "number", "causes"), cases())
def test_a_bug_is_found_at_its_line(
    program, name: str, number: int, causes: dict[str, set[int]]
) -> None:
    run = checked(program(name), number)
    assert run.returncode == 1
    # The cases leave their memory to the end of the process.
    found = [one for one in findings(run) if one[0] != "leak" or "leak" in causes]
    assert {cause for cause, _ in found} == set(causes), run.stdout + run.stderr
    for cause, text in found:
        at = {int(line) for line in re.findall(rf"{name}:(\d+)", text)}
        assert at & causes[cause] or cause == "leak", run.stderr
    for cause, lines in causes.items():
        told = "".join(text for said, text in found if said == cause)
        assert any(f"{name}:{line}" in told for line in lines), run.stderr


@pytest.mark.parametrize("name", sorted(path.name for path in SEEDED.glob("*.cu")))
def test_what_is_right_is_left_alone(program, name: str) -> None:
    run = checked(program(name), 0)
    assert [one for one in findings(run) if one[0] != "leak"] == [], run.stderr
    assert "cudaSuccess" in run.stdout


def test_there_are_more_than_forty_bugs() -> None:
    assert len(cases()) > 40


BESIDE_TORCH = """
import ctypes, pathlib, torch
from torchport import _runtimes
from torchport.virtual.kernels import extensions
extensions.load_libraries(_runtimes.find(_runtimes.Torch.at(pathlib.Path(torch.__file__).parent)))
library = ctypes.CDLL("{library}")
x = torch.arange(60.0, device="cuda").reshape(12, 5)
y = torch.empty(3, 20, device="cuda")
error = library.shift(ctypes.c_void_p(y.data_ptr()), ctypes.c_void_p(x.data_ptr()), {count})
print(error, y.flatten()[-1].item(), flush=True)
"""


@pytest.mark.parametrize("count", [60, 61])
def test_a_tensor_is_named_with_its_shape(tmp_path: Path, count: int) -> None:
    (tmp_path / "shift.cu").write_text(
        "__global__ void copies(float* to, const float* from, int n) {\n"
        "  if (threadIdx.x < n - 1) to[threadIdx.x] = from[threadIdx.x + 1];\n}\n"
        'extern "C" int shift(float* to, const float* from, int n) {\n'
        "  copies<<<1, 64>>>(to, from, n);\n  return cudaDeviceSynchronize();\n}\n"
    )
    library = tmp_path / "shift.so"
    command = [TORCHPORT, "nvcc", "--check-kernels", "-shared", "-Xcompiler", "-fPIC"]
    subprocess.run([*command, tmp_path / "shift.cu", "-o", library], check=True, timeout=100)
    (tmp_path / "program.py").write_text(BESIDE_TORCH.format(library=library, count=count))
    run = checked(TORCHPORT.with_name("python"), tmp_path / "program.py")
    if count == 60:
        assert run.stdout.startswith("0 "), run.stderr
        assert "nothing was found" in run.stderr
        assert run.returncode == 0
        return
    assert (
        "shift.cu:2: thread (59, 0, 0) of block (0, 0, 0) of copies reads 4 bytes: from[60] (0 bytes behind "
        "the end of tensor float32[60])"
    ) in run.stderr
    assert run.returncode == 1


STRIPPED = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
one = CUDAExtension("lines", ["lines.cu"], extra_link_args=["-s"])
setup(name="lines", ext_modules=[one], cmdclass={"build_ext": BuildExtension.with_options(use_ninja=False)})
"""


def test_lines_are_known_in_an_extension_that_asks_to_be_stripped(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(STRIPPED)
    (tmp_path / "lines.cu").write_text(
        "__global__ void reverse(int* to) {\n  __shared__ int tile[64];\n"
        "  tile[threadIdx.x] = threadIdx.x;\n  to[threadIdx.x] = tile[63 - threadIdx.x];\n}\n"
        'extern "C" void run(int* to) { reverse<<<1, 64>>>(to); }\n'
    )
    (tmp_path / "program.py").write_text(
        "import ctypes, glob, torch\nx = torch.zeros(64, dtype=torch.int32, device='cuda')\n"
        "library = ctypes.CDLL(glob.glob('./lines.torchport_checked*.so')[0])\n"
        "library.run(ctypes.c_void_p(x.data_ptr()))\n"
    )
    python = TORCHPORT.with_name("python")
    checked(python, "setup.py", "build_ext", "--inplace", folder=tmp_path)
    run = checked(python, "program.py", folder=tmp_path)
    assert "lines.cu:3: thread (32, 0, 0) of block (0, 0, 0) of reverse writes" in run.stderr, (
        run.stderr
    )
    assert run.returncode == 1


def test_a_kernel_that_was_not_built_for_checks_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n")
    command = [TORCHPORT, "nvcc", tmp_path / "a.cu", "-o", tmp_path / "a"]
    subprocess.run(command, check=True, timeout=100)
    run = checked(tmp_path / "a")
    assert "torchport: the kernel k is not checked: build it again" in run.stderr
    assert "torchport: kernels were not checked in 1 launch\n" in run.stderr
    assert "nothing was found" not in run.stderr
    assert run.returncode == 0


OUTSIDE_OF_FUNCTIONS = """
namespace tiles { __shared__ int tile[64]; }
static __shared__ float sums[2][32];
__global__ void other(int *x) {
  const int t = threadIdx.x;
  tiles::tile[t] = t;
  x[t] = tiles::tile[63 - t];
}
__global__ void unwritten(int *x) { x[threadIdx.x] = tiles::tile[threadIdx.x]; }
__global__ void right(int *x) {
  const int t = threadIdx.x;
  tiles::tile[t] = t;
  sums[t / 32][t % 32] = t;
  __syncthreads();
  x[t] = tiles::tile[63 - t] + int(sums[1 - t / 32][t % 32]);
}
int main(int argc, char **) {
  int *x;
  cudaMalloc(&x, 256);
  if (argc == 1) {
    other<<<1, 64>>>(x);
    unwritten<<<1, 64>>>(x);
  }
  right<<<2, 64>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}
"""


def test_shared_variables_outside_of_functions_are_checked(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(OUTSIDE_OF_FUNCTIONS)
    command = [TORCHPORT, "nvcc", "--check-kernels", tmp_path / "a.cu", "-o", tmp_path / "a"]
    subprocess.run(command, check=True, timeout=100)
    run = checked(tmp_path / "a")
    assert run.returncode == 1, run.stderr
    assert re.search(r"race: \S*a\.cu:[67]: .* tile\[\d+\] \(shared, 256 bytes\)", run.stderr)
    assert re.search(r"uninitialised shared memory: \S*a\.cu:9: .* tile\[", run.stderr)
    assert "a.cu:1" not in run.stderr  # the last kernel is right
    run = checked(tmp_path / "a", "right")
    assert run.returncode == 0 and "in 1 launch: nothing was found" in run.stderr, run.stderr


CACHED = """
import os, subprocess, sys
import torch.utils.cpp_extension
os.environ["CCACHE_DIR"] = "cache"
subprocess.run(["ccache", "nvcc", "-c", "a.cu", "-o", sys.argv[1]], check=True)
"""


@pytest.mark.skipif(shutil.which("ccache") is None, reason="torch builds with ccache where it is")
def test_ccache_tells_checked_objects_from_others(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("__global__ void k(int* p) { p[threadIdx.x] = p[0]; }\n")
    (tmp_path / "program.py").write_text(CACHED)
    python = TORCHPORT.with_name("python")
    command = [TORCHPORT, "run", "-q", "--", python, "program.py", "plain.o"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    run = checked(python, "program.py", "checked.o", folder=tmp_path)
    assert run.returncode == 0, run.stderr
    assert b"__tsan" not in (tmp_path / "plain.o").read_bytes()
    assert b"__tsan" in (tmp_path / "checked.o").read_bytes()
