"""Modules of PyTorch that are built for virtual devices, and a plain Python that meets one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from recorded import TORCHPORT

SETUP = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="twice",
    ext_modules=[CUDAExtension("twice", ["twice.cu"])],
    cmdclass={"build_ext": BuildExtension},
)
"""
# Without PyTorch's headers, which take most of a minute.
SOURCE = """
#include <Python.h>

__global__ void kernel(int* x) { *x *= 2; }
PyObject* twice(PyObject*, PyObject* value) {
  int* x;
  cudaMallocManaged(&x, sizeof(int));
  *x = PyLong_AsLong(value);
  kernel<<<1, 1>>>(x);
  cudaDeviceSynchronize();
  return PyLong_FromLong(*x);
}
PyMethodDef methods[] = {{"twice", twice, METH_O, nullptr}, {}};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "twice", nullptr, -1, methods};
PyMODINIT_FUNC PyInit_twice() { return PyModule_Create(&module); }
"""
BY_PATH = """
import glob, torch
from importlib import machinery, util
loader = machinery.ExtensionFileLoader("twice", glob.glob("twice.torchport.*.so")[0])
util.module_from_spec(util.spec_from_loader("twice", loader))
"""


def started(
    folder: Path, *words: str | Path, virtual: bool = False
) -> subprocess.CompletedProcess[str]:
    plain = {k: v for k, v in os.environ.items() if k not in ("TORCHPORT_VIRTUAL", "CUDA_HOME")}
    command = [*([TORCHPORT, "run", "-q", "--"] if virtual else []), sys.executable, *words]
    return subprocess.run(
        command,
        cwd=folder,
        env=plain | {"MAX_JOBS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a module that was built there, and what the build said."""
    folder = tmp_path_factory.mktemp("module")
    (folder / "setup.py").write_text(SETUP)
    (folder / "twice.cu").write_text(SOURCE)
    done = started(folder, "setup.py", "build_ext", "--inplace", virtual=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stderr


def test_a_build_says_where_the_module_is_found(built: tuple[Path, str]) -> None:
    folder, said = built
    (module,) = folder.glob("twice.*.so")
    assert (
        f"torchport: built for virtual devices: {module.name}; "
        "a Python finds it under `torchport run` only\n" in said
    )
    code = "import torch, twice; print(twice.twice(21))"
    assert started(folder, "-c", code, virtual=True).stdout == "42\n"
    assert "No module named 'twice'" in started(folder, "-c", code).stderr


def test_a_plain_python_refuses_it_with_the_reason(built: tuple[Path, str]) -> None:
    done = started(built[0], "-c", BY_PATH)
    assert (
        "ImportError: libvirtual_devices_need_torchport_run.so: cannot open shared object file"
        in done.stderr
    )
    assert done.returncode == 1
