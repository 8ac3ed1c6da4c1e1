"""Loads torchport._C, the bindings of libtorchport, once torch is there."""

from __future__ import annotations

import os
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


def _path() -> Path:
    if chosen := os.environ.get("TORCHPORT_LIBRARY"):  # the folder of another build
        return Path(chosen) / "_C.so"
    for folder in (Path(sys.prefix, "lib", "torchport"), Path(__file__).parent / "lib"):
        if (folder / "_C.so").is_file():
            return folder / "_C.so"
    raise ImportError(
        f"torchport: _C.so is missing from {Path(sys.prefix, 'lib', 'torchport')}; install torchport "
        "again in an environment that has torch"
    )


def _load() -> ModuleType:
    import torch

    from torchport.virtual._builds import Torch

    path = _path()
    Torch.at(Path(torch.__file__).parent).check_library(path.with_name("libtorchport.so"))
    spec = spec_from_file_location(
        "torchport._C", path, loader=ExtensionFileLoader("torchport._C", str(path))
    )
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["torchport._C"] = module
    return module


C = _load()
