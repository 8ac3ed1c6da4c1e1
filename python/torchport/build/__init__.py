"""Builds of C++/CUDA extensions of PyTorch by the plan of ``torchport build-plan``.

``extension`` and ``BuildExtension`` stand in for those of ``torch.utils.cpp_extension`` in a
``setup.py``::

    from setuptools import setup
    from torchport.build import BuildExtension, extension

    setup(
        ext_modules=[extension("pkg._C", ["csrc/ops.cpp", "csrc/ops.cu"])],
        cmdclass={"build_ext": BuildExtension},
    )

The C++ part is always built; the plan decides about the CUDA part. If it is not built, calling it
raises an error that says why. Neither importing this package nor declaring an extension imports
torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchport.build._plan import BuildRefused, Plan, cmake_dir, plan

if TYPE_CHECKING:
    # Type checkers see the base class, because ours is made only when torch is available.
    from torch.utils.cpp_extension import BuildExtension

    from torchport.build._extension import TorchExtension, extension

__all__ = [
    "BuildExtension",
    "BuildRefused",
    "Plan",
    "TorchExtension",
    "cmake_dir",
    "extension",
    "plan",
]


def __getattr__(name: str) -> Any:
    # setuptools is only available in builds, and BuildExtension also needs torch.
    if name in ("TorchExtension", "extension"):
        from torchport.build import _extension

        return getattr(_extension, name)
    if name == "BuildExtension":
        from torchport.build._build_ext import build_extension_class

        return build_extension_class()
    raise AttributeError(f"module 'torchport.build' has no attribute {name!r}")
