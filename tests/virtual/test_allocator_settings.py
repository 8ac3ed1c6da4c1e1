"""Settings of the allocator that change where memory comes from: no cache, garbage, the driver's pool."""

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:1", memory="1GiB")

MIB = 1 << 20


def block(mebibytes: int) -> torch.Tensor:
    return torch.empty(mebibytes * MIB, dtype=torch.uint8, device="cuda")


def free() -> int:
    return torch.cuda.mem_get_info()[0]


@pytest.fixture
def uncached():
    torch.cuda.init()
    torch.cuda.empty_cache()
    torch.cuda.caching_allocator_enable(False)
    yield
    torch.cuda.caching_allocator_enable(True)


@pytest.mark.usefixtures("uncached")
def test_memory_that_is_not_cached_is_in_no_statistics() -> None:
    before, stats = free(), torch.cuda.memory_stats()
    assert not torch._C._cuda_cudaCachingAllocator_is_enabled()
    x = torch.ones(10 * MIB, dtype=torch.uint8, device="cuda")
    y = x + 1
    assert before - free() == 20 * MIB
    assert torch.cuda.memory_stats() == stats
    assert y.sum().item() == 20 * MIB
    del x
    assert before - free() == 10 * MIB
    torch.cuda.caching_allocator_enable(True)
    z = block(30)
    assert torch.cuda.memory_allocated() - stats["allocated_bytes.all.current"] == 30 * MIB
    torch.cuda.caching_allocator_enable(False)
    del z  # what was cached stays so
    assert before - free() == 40 * MIB
    del y
    torch.cuda.empty_cache()
    assert free() == before


@pytest.mark.usefixtures("uncached")
def test_a_full_device_without_the_cache() -> None:
    with pytest.raises(RuntimeError, match="CUDA error: out of memory"):
        block(1025)
    graph = torch.cuda.CUDAGraph()
    with (
        pytest.raises(torch.AcceleratorError, match="previous error during capture"),
        torch.cuda.graph(graph),
        pytest.raises(torch.AcceleratorError, match="not permitted when stream is capturing"),
    ):
        block(1)
    with pytest.raises(RuntimeError, match="expects a bool, but got int"):
        torch._C._cuda_cudaCachingAllocator_enable(1)


def test_caching_can_be_forbidden_by_the_environment(run_virtual) -> None:
    code = """
import torch
x = torch.ones(1000, device="cuda")
torch.cuda.caching_allocator_enable(True)
y = x * 2
print(torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), y.sum().item())
print(torch._C._cuda_cudaCachingAllocator_is_enabled())
"""
    done = run_virtual(code, PYTORCH_NO_CUDA_MEMORY_CACHING="1")
    assert done.stdout == "0 0 2000.0\nFalse\n"


@pytest.mark.skipif(
    not hasattr(torch._C, "_accelerator_setAllocatorSettings"), reason="settings since torch 2.10"
)
def test_unused_segments_are_collected() -> None:
    torch.cuda.empty_cache()
    torch._C._accelerator_setAllocatorSettings("garbage_collection_threshold:0.2")
    try:
        first = [block(30) for _ in range(5)]  # of the 204.8 MiB from which on it collects
        first.clear()
        assert torch.cuda.memory_reserved() == 150 * MIB
        whole = block(60)
        assert torch.cuda.memory_reserved() == 210 * MIB
        del whole
        torch.cuda.set_per_process_memory_fraction(1.0)  # without it nothing is collected
        used = block(30)
        later = block(70)
        assert torch.cuda.memory_reserved() < 204 * MIB
        assert torch.cuda.memory_stats()["num_alloc_retries"] == 0
        del used, later
    finally:
        torch._C._accelerator_setAllocatorSettings("")
        torch.cuda.empty_cache()


DRIVERS = """
import warnings, torch
MIB = 1 << 20
def figures():
    names = "allocated_bytes", "reserved_bytes", "active_bytes", "segment", "allocation"
    stats = torch.cuda.memory_stats()
    return [stats[f"{n}.all.current"] for n in names]
def refused(call, error=RuntimeError):
    try:
        call()
    except error as raised:
        print(str(raised))
print(torch.cuda.memory.get_allocator_backend())
x = torch.ones(MIB, dtype=torch.uint8, device="cuda")
print(figures())
y = torch.ones(40 * MIB, dtype=torch.uint8, device="cuda")
print(figures())
del y
print(figures(), torch.cuda.max_memory_allocated() == 41 * MIB)
torch.cuda.empty_cache()
torch.cuda.reset_peak_memory_stats()
print(figures(), torch.cuda.max_memory_allocated() == MIB)
refused(torch.cuda.memory_snapshot)
refused(torch.cuda.memory._record_memory_history)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    torch.cuda.reset_accumulated_memory_stats()
    torch.cuda.reset_accumulated_memory_stats()
print([str(one.message) for one in told])
torch.cuda.caching_allocator_enable(False)
print(torch._C._cuda_cudaCachingAllocator_is_enabled())
torch.cuda.set_per_process_memory_fraction(0.25)
refused(lambda: torch.empty(300 * MIB, dtype=torch.uint8, device="cuda"), torch.OutOfMemoryError)
print(x.sum().item() == MIB)
"""


@pytest.mark.skipif(
    not hasattr(torch._C, "_accelerator_setAllocatorSettings"), reason="settings since torch 2.10"
)
def test_the_drivers_pool(run_virtual) -> None:
    done = run_virtual(
        DRIVERS,
        devices="cuda:1,memory=1GiB",
        PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync",
    )
    assert done.stdout.splitlines() == [
        "cudaMallocAsync",
        f"[{MIB}, {32 * MIB}, {MIB}, 0, 0]",
        f"[{41 * MIB}, {64 * MIB}, {41 * MIB}, 0, 0]",
        f"[{MIB}, {64 * MIB}, {MIB}, 0, 0] True",
        f"[{MIB}, {32 * MIB}, {MIB}, 0, 0] True",
        "Calling snapshot with backend:cudaMallocAsync is not meaningful. (For backend:native, "
        "snapshot returns a detailed summary of all blocks tracked by the allocator, but the "
        "cudaMallocAsync backend does not track individual blocks.)",
        "cudaMallocAsync does not yet support recordHistory. If you need it, please file an issue "
        "describing your use case.",
        "['For backend:cudaMallocAsync, resetAccumulatedStats has no effect.']",
        "True",
        "Allocation on device 0 would exceed allowed memory. (out of memory)",
        "Currently allocated     : 1024.00 KiB",
        "Requested               : 300.00 MiB",
        "Device limit            : 1024.00 MiB",
        "Free (according to CUDA): 992.00 MiB",
        "PyTorch limit (set by user-supplied memory fraction)",
        "                        : 256.00 MiB",
        "True",
    ]
