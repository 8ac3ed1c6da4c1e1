"""What the tests of written files share: linters, and small projects to write them for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINTERS = ROOT / "build" / "linters" / "bin"

# Native code that is CUDA's where CUDA is built, and says which it is.
SETUP = """\
import os
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension, CUDAExtension

cuda = os.environ.get("FORCE_CUDA") == "1"
kind, sources = (CUDAExtension, ["native.cu"]) if cuda else (CppExtension, ["native.cpp"])
setup(
    name="Small_Net",
    version="0.3",
    python_requires=">=3.10",
    install_requires=["torch>=2.0"],
    py_modules=["small_net"],
    ext_modules=[kind("small_net_native", sources)],
    cmdclass={"build_ext": BuildExtension},
)
"""
NATIVE = """\
#include <Python.h>
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "small_net_native", nullptr, -1, nullptr};
PyMODINIT_FUNC PyInit_small_net_native() {
  PyObject* self = PyModule_Create(&module);
  PyModule_AddStringConstant(self, "kind", "cpp");
  return self;
}
"""
PROGRAM = """\
import sys, torch, small_net, small_net_native
assert "build" not in small_net_native.__file__.split("/")
print(torch.__version__, small_net_native.kind, sys.argv[1:])
"""


@pytest.fixture(scope="session")
def lint():
    """Runs a linter of deps/linters.lock on a file; fails with what it says."""

    def run(*words: object) -> str:
        program = LINTERS / str(words[0])
        assert program.exists(), f"{program} is missing: `make test` fetches it"
        done = subprocess.run(
            [program, *map(str, words[1:])], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def _write_project(folder: Path) -> None:
    for name, text in {
        "setup.py": SETUP,
        "native.cpp": NATIVE,
        "native.cu": NATIVE,
        "small_net.py": "",
        "run.py": PROGRAM,
        "requirements.txt": "-f https://download.pytorch.org/whl/torch_stable.html\n"
        "torch==1.6.0+cu101  # of old\npackaging>=20\n",
        ".env": "TOKEN=secret\n",
        ".git/config": "[core]\n",
        "build/small_net_native.so": "of the host",
        "keys/server.key": "secret\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.fixture(scope="session")
def write_project():
    """Writes a project with native code, old pins and things that belong in no image."""
    return _write_project
