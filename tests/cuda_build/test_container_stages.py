"""The stages of an image for CUDA: the project's kernels are compiled by its own RUN line, with the
toolkit that its COPY brings, on a host without a GPU, and lie in the image's runtime stage."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STAGES = ROOT / "tests" / "scaffold" / "programs" / "run_stages.py"
TORCH = Path(importlib.util.find_spec("torch").origin).parent
TOOLKIT = Path("/usr/local/cuda-13.0")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

pytestmark = [
    pytest.mark.skipif(
        "\ncuda: Optional[str] = '13.0'" not in (TORCH / "version.py").read_text(),
        reason="torch is not built for CUDA 13.0; `make test-cuda-build` has one that is",
    ),
    pytest.mark.skipif(not TOOLKIT.exists(), reason=f"there is no {TOOLKIT}"),
]

SETUP = """\
import os
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension, CppExtension

cuda = os.environ["FORCE_CUDA"] == "1"
kind, source = (CUDAExtension, "twice.cu") if cuda else (CppExtension, "twice.cpp")
setup(
    name="twice",
    version="1",
    install_requires=["torch"],
    py_modules=[],
    ext_modules=[kind("twice", [source])],
    cmdclass={"build_ext": BuildExtension},
)
"""
KERNEL = """\
#include <Python.h>
__global__ void twice(float* x) { x[threadIdx.x] *= 2; }
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "twice", nullptr, -1, nullptr};
PyMODINIT_FUNC PyInit_twice() {
  PyObject* self = PyModule_Create(&module);
  PyModule_AddIntConstant(self, "toolkit", CUDART_VERSION);
  return self;
}
"""


def test_kernels_are_compiled_without_a_gpu() -> None:
    with tempfile.TemporaryDirectory(prefix="torchport-stages-") as name:
        project = Path(name) / "project"
        project.mkdir()
        (project / "setup.py").write_text(SETUP)
        (project / "twice.cu").write_text(KERNEL)
        (project / "run.py").write_text(
            "import torch, twice; print(torch.version.cuda, twice.toolkit)"
        )
        version = "2.12.1"
        words = ["--device", "cuda", "--torch", version, "--python", PYTHON, "--entry", "run.py"]
        words += ["--torchport", "none", "--arch-list", "7.5;12.0+PTX"]
        program = Path(sys.executable).parent / "torchport"
        subprocess.run([program, "container", project, *words], check=True, capture_output=True)
        # What the toolkit's image holds, as a link to this machine's.
        image = Path(name) / "image" / "usr" / "local"
        image.mkdir(parents=True)
        (image / TOOLKIT.name).symlink_to(TOOLKIT)
        done = subprocess.run(
            [
                *(sys.executable, STAGES, project / "Dockerfile", project, Path(name) / "out"),
                *("--torch-from", TORCH.parent, "--image", f"nvidia/cuda={Path(name) / 'image'}"),
            ],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            # The build's own variables are the image's: these would change it.
            env={k: v for k, v in os.environ.items() if "CUDA" not in k},
        )
        result = json.loads(done.stdout)
        assert result["entry"]["stdout"] == "13.0 13000\n", result["entry"]["stderr"]
        assert result["labels"]["torchport.archs"] == "7.5;12.0+PTX"
        (library,) = Path(result["root"], "opt", "venv").rglob("twice.*.so")
        told = subprocess.run(
            [program, "build-plan", "--json", "--of", library], capture_output=True, text=True
        )
        assert sorted(json.loads(told.stdout)["archs"]) == [
            "compute_120",
            "sm_120",
            "sm_75",
        ]
        # The toolkit itself is not in the image.
        assert not Path(result["root"], "usr", "local", "cuda").exists()
