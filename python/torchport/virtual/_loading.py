"""Sets up virtual devices at certain moments of `import torch`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from torchport import _runtimes
from torchport._runtimes import Torch, UnsupportedTorch
from torchport._startup import VARIABLE
from torchport.virtual import _hiding, _rivals, _watching, planning, without_data


def hidden() -> bool:
    return os.environ.get(VARIABLE) == "none"


def before_torch(module: ModuleType) -> None:
    """Loads the library of the virtual devices, before torch asks for its hooks."""
    torch = Torch.at(Path(module.__spec__.origin).parent)  # type: ignore[union-attr, arg-type]
    if hidden():
        _hiding.hide_devices()
    if hidden() and not _watching.wanted():
        # A build with CUDA needs the library's hooks to answer like a build without CUDA. If they
        # do not support this version of torch, the variable alone hides the devices.
        if torch.has_cuda:
            with suppress(UnsupportedTorch):
                _load(torch)
        return
    _load(torch)
    _rivals.refuse()


def _load(torch: Torch) -> None:
    library = _runtimes.find(torch) / "libtorchport_virtual.so"
    _runtimes.load_torch(torch)
    _runtimes.load(library).torchport_hide_questions()


def before_cuda(torch: ModuleType) -> None:
    """Adds the names to torch._C; torch.cuda copies them when it is first imported."""
    _hiding.hide_cuda(torch)
    if not hidden():
        from torchport.virtual import torch_c_shim

        torch_c_shim.install(torch)


def after_torch(torch: ModuleType) -> None:
    _rivals.restore()
    torch.version.cuda = None  # the shim sets the version of virtual CUDA devices
    if not hidden():
        from torchport.virtual import torch_c_shim

        torch_c_shim.finish(torch)
        _prepare_extensions(torch)
    native = sys.modules.get("torch._native.triton_utils")
    if native is not None and not hidden():
        # Since torch 2.13 some operators are Triton's kernels where Triton is installed: the CPU's
        # kernels give the same results, and these need no interpreter.
        native.deregister_op_overrides()
    if "triton" in sys.modules:  # imported before the program asked for virtual devices
        after_triton(sys.modules["triton"])
    begin_what_is_asked(torch)


def begin_what_is_asked(torch: ModuleType) -> None:
    """The report, the lines of errors, what is done without data, the plan."""
    if _watching.wanted():
        _watching.start(torch)
    elif not hidden() and (planning.wanted() or _tells_lines(torch._ops.ops.torchport)):
        _watching.find_lines(torch)
    if not hidden():
        without_data.install(torch)
    if planning.wanted() and not hidden():
        planning.start(torch)


def _prepare_extensions(torch: ModuleType) -> None:
    """CUDA extensions that were built for virtual devices can be imported from here on."""
    root = Path(torch.__file__).parent  # type: ignore[arg-type]
    # A build for CUDA brings libraries of the same functions, which extensions would find first.
    if torch.version.cuda is None or Torch.at(root).has_cuda:
        return
    from torchport.virtual.kernels import extensions

    extensions.prepare(root)


def after_triton(triton: ModuleType) -> None:
    if not hidden():
        from torchport.virtual import triton_kernels

        triton_kernels.install(triton)


def after_dynamo(dynamo: ModuleType) -> None:
    if "triton" in sys.modules and not hidden():
        from torchport.virtual import triton_kernels

        triton_kernels.leave_alone(dynamo)


def _tells_lines(native: Any) -> bool:
    return bool(native.errors_are_late() or native.streams_are_late())


def after_cpp_extension(extension: ModuleType) -> None:
    if not hidden():
        from torchport.virtual.kernels import extensions

        extensions.install(extension)
