"""Loads torchport._C, the bindings of libtorchport, once torch is there."""

from __future__ import annotations

import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


def _load() -> ModuleType:
    import torch

    from torchport import _libraries
    from torchport.virtual._builds import Torch

    path = _libraries.find("_C.so")
    Torch.at(Path(torch.__file__).parent).check_library(path.with_name("libtorchport.so"))
    spec = spec_from_file_location(
        "torchport._C", path, loader=ExtensionFileLoader("torchport._C", str(path))
    )
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["torchport._C"] = module
    return module


C = _load()
