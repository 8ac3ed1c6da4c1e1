"""CUDA's runtime and PyTorch's virtual devices in one process: one account, one device, one error."""

from __future__ import annotations

import subprocess
from pathlib import Path

from recorded import TORCHPORT

PROGRAMS = Path(__file__).parent / "programs"
CODE = """
import ctypes, pathlib, torch
from torchport import _runtimes
from torchport.virtual.kernels import extensions
extensions.load_libraries(_runtimes.find(_runtimes.Torch.at(pathlib.Path(torch.__file__).parent)))
library = ctypes.CDLL("{library}")
library.take.argtypes = [ctypes.c_size_t]
torch.cuda.set_device(1)
x = torch.zeros(256 << 20, dtype=torch.uint8, device="cuda")
library.tell()
print(library.take(1 << 30), torch.cuda.mem_get_info()[0] >> 20)
library.tell()
print(library.take(3 << 30), library.fail(), flush=True)
try:
    torch.ones(3, device="cuda").sum().item()
except torch.AcceleratorError as error:
    print(str(error).splitlines()[0])
"""


def run_beside(folder: Path, code: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs a program with the library of beside_torch.cu."""
    library = folder / "beside_torch.so"
    command = [TORCHPORT, "nvcc", "-shared", "-Xcompiler", "-fPIC", PROGRAMS / "beside_torch.cu"]
    subprocess.run([*command, "-o", library], check=True, timeout=100)
    (folder / "program.py").write_text(code.format(library=library))
    return subprocess.run(
        [TORCHPORT, "run", "-q", *options, folder / "program.py"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_one_account_and_one_state_of_errors(tmp_path: Path) -> None:
    done = run_beside(tmp_path, CODE, "--devices", "cuda:2,memory=4GiB")
    assert done.stdout.splitlines() == [
        "2 devices, current 1, left 3840 of 4096",
        "0 2816",
        "2 devices, current 1, left 2816 of 4096",
        "2 700",
        "CUDA error: an illegal memory access was encountered",
    ], done.stderr
    assert "torchport: kernel bad: block (0, 0, 0)" in done.stderr


GRAPH = """
import ctypes, pathlib, torch
from torchport import _runtimes
from torchport.virtual.kernels import extensions
extensions.load_libraries(_runtimes.find(_runtimes.Torch.at(pathlib.Path(torch.__file__).parent)))
library = ctypes.CDLL("{library}")
x = torch.zeros(4, device="cuda", dtype=torch.int32)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x + 1
    error = library.start(ctypes.c_void_p(x.data_ptr()))
print(error, library.start(ctypes.c_void_p(x.data_ptr())), x.tolist())
"""


def test_a_kernel_in_a_graph_of_pytorch_is_refused(tmp_path: Path) -> None:
    done = run_beside(tmp_path, GRAPH)
    assert done.stdout == "900 0 [1, 1, 1, 1]\n", done.stderr
    assert "the kernel bad is launched while torch.cuda.graph captures" in done.stderr


SETUP = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
setup(
    name="small",
    ext_modules=[CUDAExtension("small", ["small.cu"], py_limited_api=False)],
    cmdclass={"build_ext": BuildExtension},
)
"""
SMALL = """
#include <Python.h>
__global__ void one(int* x) { *x = 1; }
static PyObject* run(PyObject*, PyObject*) {
  int *x = nullptr, value = 0;
  cudaMalloc(&x, sizeof(int));
  one<<<1, 1>>>(x);
  cudaMemcpy(&value, x, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(x);
  return PyLong_FromLong(value);
}
static PyMethodDef methods[] = {{"run", run, METH_NOARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "small", "", -1, methods};
PyMODINIT_FUNC PyInit_small() { return PyModule_Create(&module); }
"""


def test_two_builds_in_one_folder_wait_for_each_other(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(SETUP)
    (tmp_path / "small.cu").write_text(SMALL)
    run = [TORCHPORT, "run", "-q", "--", TORCHPORT.with_name("python")]
    command = [*run, "setup.py", "-q", "build_ext", "--inplace"]
    builds = [
        subprocess.Popen(
            command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        for _ in range(2)
    ]
    for build in builds:
        said, _ = build.communicate(timeout=200)
        assert build.returncode == 0, said
    (module,) = tmp_path.glob("small*.so")
    assert module.name.startswith("small.torchport.")
    program = "import torch, small; print(small.run())"
    done = subprocess.run(
        [*run, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stdout == "1\n", done.stderr
