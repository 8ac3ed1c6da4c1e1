"""Makes any torch look like a build without CUDA.

`torchport run --hide-cuda` needs this. The virtual devices need it, too: the torch._C shim then
starts from the same names on all builds.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType

from torchport import _device_kinds
from torchport.virtual._builds import HAS_FLAGS, of_cuda_builds


def hide_devices() -> None:
    """Hides the host's devices of CUDA, and of the other kinds that an environment variable hides.
    Called before torch is imported."""
    for kind in _device_kinds.kinds():
        if kind.visibility_variable:
            os.environ[kind.visibility_variable] = ""


def hide_cuda(torch: ModuleType) -> None:
    """Hides the names of CUDA. Called before torch.cuda is imported, which looks for them."""
    bindings = torch._C
    for name in [name for name in vars(bindings) if of_cuda_builds(name)]:
        delattr(bindings, name)
        sys.modules.pop(
            f"torch._C.{name}", None
        )  # `from torch._C import _nvtx` would find the module in sys.modules
    for name in HAS_FLAGS:
        if hasattr(bindings, name):
            setattr(bindings, name, False)
    init = bindings._c10d_init

    def c10d_init() -> bool:
        first = not hasattr(bindings, "_distributed_c10d")
        done: bool = init()
        c10d = bindings._distributed_c10d
        if first:
            for name in [name for name in vars(c10d) if name.startswith("ProcessGroupNCCL")]:
                delattr(c10d, name)
        return done

    bindings._c10d_init = c10d_init
