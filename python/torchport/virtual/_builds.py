"""The names by which a build of torch with CUDA differs from one without.

Such a build differs in two ways: it has a library with the kernels of a real device, which is loaded
before the library of the virtual devices so that the latter replaces the kernels (torchport._runtimes);
and `torch._C` has names for CUDA, which the shim replaces. src/runtime/virtual/core/build_facts.h is
the part of the C++ runtime.
"""

from __future__ import annotations

import re

# The names of torch._C that show that a build has CUDA. The `_has_...` flags are in every build;
# the names that the expression matches exist only in builds with CUDA.
HAS_FLAGS = ("_has_cuda", "_has_cudnn", "_has_magma", "_has_cusparselt")
_OF_CUDA_BUILDS = re.compile(
    r"_cuda|_Cuda|_CUDA|_CU|_cudnn|_cusparselt|_nccl_|_gds_|_nvtx$|_MemPool$|_\w*CudaLauncher$|"
    r"_WorkqueueScope$|_(broadcast|scatter|gather)(_coalesced|_out)?$"
)


def of_cuda_builds(name: str) -> bool:
    return _OF_CUDA_BUILDS.match(name) is not None
