"""torch.xpu: the functions of torch.cuda for devices, streams and memory, with XPU's names."""

from __future__ import annotations

import json
import uuid
from types import ModuleType, SimpleNamespace
from typing import Any

from torchport.virtual.torch_c_shim import pools, streams
from torchport.virtual.torch_c_shim._native import ops, refuse, refusing

KINDS = ("xpu",)


class DeviceProperties(SimpleNamespace):
    """The result of torch.xpu.get_device_properties()."""

    def __repr__(self) -> str:
        return (
            f"_XpuDeviceProperties(name='{self.name}', platform_name='{self.platform_name}', "
            f"type='{self.type}', device_id=0x{self.device_id:X}, uuid={self.uuid}, "
            f"driver_version='{self.driver_version}', total_memory={self.total_memory // 2**20}MB, "
            f"max_compute_units={self.max_compute_units}, gpu_eu_count={self.gpu_eu_count}, "
            f"gpu_subslice_count={self.gpu_subslice_count}, "
            f"max_work_group_size={self.max_work_group_size}, "
            f"max_num_sub_groups={self.max_num_sub_groups}, sub_group_sizes={self.sub_group_sizes}, "
            f"has_fp16={int(self.has_fp16)}, has_fp64={int(self.has_fp64)}, "
            f"has_atomic64={int(self.has_atomic64)})"
        )


def properties(index: int) -> DeviceProperties:
    about = json.loads(ops().describe())
    profile = about["profile"]
    return DeviceProperties(
        name=profile["name"],
        platform_name="Intel(R) oneAPI Unified Runtime over Level-Zero",
        vendor="Intel(R) Corporation",
        device_id=0xBD5,
        driver_version="1.6.31294",
        version="12.60.7",
        type="gpu",
        architecture=13136561920,
        uuid=uuid.uuid5(uuid.NAMESPACE_OID, f"torchport:{profile['name']}:{index}"),
        total_memory=about["memory"],
        max_compute_units=profile["multi_processor_count"],
        gpu_eu_count=profile["multi_processor_count"],
        gpu_subslice_count=profile["multi_processor_count"] // 8,
        max_work_group_size=1024,
        max_num_sub_groups=64,
        sub_group_sizes=[16, 32],
        memory_clock_rate=profile["memory_clock_rate"] // 1000,
        memory_bus_width=profile["memory_bus_width"],
        local_mem_size=profile["shared_memory_per_block"],
        last_level_cache_size=profile["L2_cache_size"],
        has_fp16=True,
        has_fp64=True,
        has_atomic64=True,
        has_bfloat16_conversions=True,
        has_subgroup_matrix_multiply_accumulate=True,
        has_subgroup_matrix_multiply_accumulate_tensor_float32=True,
        has_subgroup_2d_block_io=True,
        is_integrated_gpu=False,
    )


def _devices(torch: ModuleType) -> dict[str, Any]:
    def exchange(index: int) -> int:
        if index < 0:
            return -1
        old: int = ops().get_device()
        if index != old:
            ops().set_device(index)
        return old

    def init() -> None:
        torch.xpu.default_generators = tuple(
            ops().default_generator(i) for i in range(ops().device_count())
        )
        torch.xpu._get_device_properties = properties

    return {
        "_has_xpu": True,
        "_XpuDeviceProperties": DeviceProperties,
        "_xpu_init": init,
        "_xpu_isInBadFork": lambda: False,
        "_xpu_getDeviceCount": lambda: ops().device_count(),
        "_xpu_getDevice": lambda: ops().get_device(),
        "_xpu_setDevice": lambda index: ops().set_device(index),
        "_xpu_exchangeDevice": exchange,
        "_xpu_maybeExchangeDevice": lambda index: exchange(index),
        "_xpu_canDeviceAccessPeer": lambda a, b: a != b,
        "_xpu_getArchFlags": lambda: "pvc,bmg-g21,dg2,arl-h,mtl-h,lnl-m",
        "_xpu_synchronize": lambda index: None,
        "_get_device_properties": properties,
    }


def _memory() -> dict[str, Any]:
    def record(enabled: str | None, *_: Any, **__: Any) -> None:
        if enabled is not None:
            refuse("torch.xpu.memory._record_memory_history", "they do not record allocations")

    def snapshot(pool: Any) -> dict[str, Any]:
        segments = [json.loads(ops().memory_snapshot(i)) for i in range(ops().device_count())]
        return {
            "segments": [s for part in segments for s in part],
            "device_traces": [[] for _ in segments],
        }

    own = "their memory is host memory"
    return {
        "_xpu_emptyCache": lambda: ops().empty_cache(),
        "_xpu_memoryStats": lambda index: json.loads(ops().memory_stats(index)),
        "_xpu_resetAccumulatedMemoryStats": lambda index: ops().reset_accumulated(index),
        "_xpu_resetPeakMemoryStats": lambda index: ops().reset_peak(index),
        "_xpu_getMemoryInfo": lambda index: ops().memory_info(index),
        "_xpu_getMemoryFraction": lambda index: ops().get_memory_fraction(index),
        "_xpu_setMemoryFraction": lambda part, index: ops().set_memory_fraction(index, part),
        "_xpu_memorySnapshot": snapshot,
        "_xpu_recordMemoryHistory": record,
        "_XPUMemPool": pools.MemPool,
        "_xpu_beginAllocateToPool": pools.begin_on_thread,
        "_xpu_beginAllocateCurrentThreadToPool": pools.begin_on_thread,
        "_xpu_endAllocateToPool": pools.end,
        "_xpu_releasePool": pools.release,
        "_xpu_customAllocator": refusing("torch.xpu.memory.XPUPluggableAllocator", own),
        "_xpu_changeCurrentAllocator": refusing("torch.xpu.memory.change_current_allocator", own),
        "_xpu_getAllocator": refusing("torch.xpu.memory._get_current_allocator", own),
    }


class _XPUAllocator:
    """The only allocator; a program cannot replace it."""


class _XPUGraph:
    def __new__(cls, *_: Any, **__: Any) -> Any:
        refuse("torch.xpu.XPUGraph", "they cannot replay captured work")


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {
        **streams.of_kind(torch, "xpu"),
        **_devices(torch),
        **_memory(),
        "_xpu_XPUAllocator": _XPUAllocator,
        "_XPUGraph": _XPUGraph,
        "_xpu_graph_pool_handle": lambda: (0, 1),
        "_xpu_isCurrentStreamCapturing": lambda: False,
    }
