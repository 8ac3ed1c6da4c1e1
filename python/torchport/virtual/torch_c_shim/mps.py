"""torch.mps: the few bindings that are not in every build of torch. The others call the hooks."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim._native import ops, refusing

KINDS = ("mps",)

_METAL = "there is no Metal device to compile for"
_CAPTURE = "there is no Metal device whose work could be captured"


def bindings(torch: ModuleType) -> dict[str, Any]:
    def profile() -> dict[str, Any]:
        return dict(json.loads(ops().describe())["profile"])

    return {
        "_has_mps": True,
        "_mps_get_name": lambda: profile()["name"],
        "_mps_get_core_count": lambda: profile()["multi_processor_count"],
        "_mps_compileShader": refusing("torch.mps.compile_shader", _METAL),
        "_mps_loadMetalllib": refusing("torch.mps.load_metallib", _METAL),
        "_mps_loadMetallibFromPath": refusing("torch.mps.load_metallib", _METAL),
        "_mps_host_alias_storage": refusing("torch.mps._host_alias_storage", _METAL),
        "_mps_isCaptureEnabled": lambda: False,
        "_mps_isCapturing": lambda: False,
        "_mps_startCapture": refusing("torch.mps.profiler.metal_capture", _CAPTURE),
        "_mps_stopCapture": refusing("torch.mps.profiler.metal_capture", _CAPTURE),
    }
