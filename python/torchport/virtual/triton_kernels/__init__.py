"""Triton's kernels on virtual CUDA devices: each program of a launch runs in Python, over NumPy's arrays.

`install` changes Triton where a kernel meets the device: the driver, the launch of a `JITFunction`, and
the choice of a configuration. A kernel stays what it is on a real device, a `JITFunction`; so it does not
matter whether it was made before. The language itself is Triton's own interpreter
(triton/runtime/interpreter.py) with what that lacks (`arithmetic`, `reductions`, `libdevice`).

A user who sets TRITON_INTERPRET=1 gets Triton's interpreter, unchanged.
"""

from __future__ import annotations

import sys
from types import ModuleType

from torchport.virtual.torch_c_shim._native import kind

OLDEST = (3, 4)  # of the Triton that belongs to the oldest supported torch


def install(triton: ModuleType) -> None:
    """Called with the module triton after it is imported, before a program uses it. Thread safe, because
    the import is."""
    if kind() != "cuda" or getattr(triton, "_torchport_installed", False):
        return
    version = tuple(int(part) for part in triton.__version__.split(".")[:2])
    if version < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        sys.stderr.write(
            f"torchport: Triton {triton.__version__} is older than {wanted}; its kernels do not run on "
            "virtual devices. Install the Triton that your torch asks for.\n"
        )
        return
    from torchport.virtual.triton_kernels import driver, launching, tuning

    driver.install()
    launching.install()
    tuning.install()
    vars(triton)["_torchport_installed"] = True
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo is not None and hasattr(
        dynamo, "disable"
    ):  # it may import Triton while it is imported
        leave_alone(dynamo)


def leave_alone(dynamo: ModuleType) -> None:
    """Makes torch.compile run launches as they are, between two graphs: inductor writes C++ here, and it
    cannot write a part of that which launches a kernel. Called when both modules are imported."""
    triton = sys.modules["triton"]
    if not getattr(triton, "_torchport_installed", False):
        return
    if getattr(triton, "_torchport_left_alone", False):
        return
    vars(triton)["_torchport_left_alone"] = True
    for kernel in (triton.runtime.JITFunction, triton.runtime.Autotuner):
        kernel.run = dynamo.disable(kernel.run, recursive=True)
