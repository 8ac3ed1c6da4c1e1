"""torch.npu and torch_npu for Huawei's Ascend cards, a renamed PrivateUse1."""

from __future__ import annotations

import uuid
from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim import _device_module

KINDS = ("npu",)


def _properties(about: dict[str, Any]) -> Any:
    profile = about["profile"]
    cores = profile["multi_processor_count"]
    return _device_module.properties_repr(
        "_NPUDeviceProperties",
        {
            "name": profile["name"],
            "total_memory": about["memory"],
            "cube_core_num": cores,
            "vector_core_num": 2 * cores,
            "uuid": uuid.uuid5(uuid.NAMESPACE_OID, f"torchport:{profile['name']}:{about['index']}"),
            "L2_cache_size": profile["L2_cache_size"],
        },
    )


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {}


def finish(torch: ModuleType) -> None:
    _device_module.install(torch, "npu", package="torch_npu", properties=_properties)
