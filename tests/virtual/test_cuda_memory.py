"""Accounts, limits and pools of memory."""

import pickle
import re

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:2", memory="1GiB")


MIB = 1 << 20


def test_accounts() -> None:
    assert torch.cuda.memory_stats() == {} and torch.cuda.memory_allocated() == 0
    _small = torch.empty(100, device="cuda")
    assert torch.cuda.memory_allocated() == 512 and torch.cuda.memory_reserved() == 2 * MIB
    large = torch.empty(3 * MIB, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_reserved() == 22 * MIB
    stats = torch.cuda.memory_stats()
    assert stats["inactive_split.all.current"] == 2
    assert stats["inactive_split_bytes.all.current"] == 19 * MIB - 512
    other = torch.empty(4 * MIB, dtype=torch.uint8, device="cuda")
    # A part that shrinks is neither a new part nor one less.
    assert torch.cuda.memory_stats()["inactive_split.large_pool.allocated"] == 1
    assert torch.cuda.memory_stats()["inactive_split_bytes.large_pool.freed"] == 4 * MIB
    del other, large
    assert torch.cuda.memory_stats()["inactive_split.large_pool.current"] == 0
    assert torch.cuda.max_memory_allocated() == 7 * MIB + 512
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == 512
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 2 * MIB
    free, total = torch.cuda.mem_get_info()
    assert total - free == 2 * MIB
    if hasattr(torch.accelerator, "get_memory_info"):  # since torch 2.10
        assert total == torch.accelerator.get_memory_info()[1]
    assert "CUDA OOMs: 0" in torch.cuda.memory_summary()


def test_past_the_size_and_past_a_limit() -> None:
    _small = torch.empty(100, device="cuda")
    # Past the device's size, and past a limit: the text of c10/cuda/CUDACachingAllocator.cpp.
    with pytest.raises(
        torch.OutOfMemoryError,
        match=re.escape(
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 1024.00 MiB of "
            "which 1022.00 MiB is free. Including non-PyTorch memory, this process has 2.00 MiB memory in "
            "use. Of the allocated memory 512 bytes is allocated by PyTorch, and 2.00 MiB is reserved by "
            "PyTorch but unallocated. If reserved but unallocated memory is large try setting "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
        ),
    ):
        torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_stats()["num_ooms"] == 1
    torch.cuda.set_per_process_memory_fraction(0.5, 1)
    assert torch.cuda.get_per_process_memory_fraction(1) == 0.5
    with pytest.raises(torch.OutOfMemoryError, match=re.escape("512.00 MiB allowed; ")):
        torch.empty(600 * MIB, dtype=torch.uint8, device="cuda:1")
    with pytest.raises(ValueError):
        torch.cuda.set_per_process_memory_fraction(2.0)


def test_snapshots(tmp_path) -> None:
    _small = torch.empty(100, device="cuda")
    # Snapshots.
    segments = torch.cuda.memory_snapshot()
    assert [s["total_size"] for s in segments] == [2 * MIB]
    assert [b["state"] for b in segments[0]["blocks"]] == ["active_allocated", "inactive"]
    assert segments[0]["allocated_size"] == 512 and segments[0]["requested_size"] == 400
    torch.cuda.memory._dump_snapshot(str(tmp_path / "snapshot.pickle"))
    with (tmp_path / "snapshot.pickle").open("rb") as file:
        assert pickle.load(file)["segments"][0]["total_size"] == 2 * MIB


def make() -> torch.Tensor:
    return torch.empty(3 * MIB, dtype=torch.uint8, device="cuda")


def test_what_happened_and_where() -> None:
    _small = torch.empty(100, device="cuda")
    torch.cuda.memory._record_memory_history(max_entries=1000)
    made, gone = make(), make()
    del gone
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
    recorded = torch.cuda.memory._snapshot()
    trace = recorded["device_traces"][0]
    actions = ["segment_alloc", "alloc", "alloc", "free_requested", "free_completed", "oom"]
    assert [e["action"] for e in trace] == actions, [e["action"] for e in trace]
    assert trace[1]["size"] == 3 * MIB and trace[1]["frames"][0]["name"] == "make"
    assert trace[1]["frames"][0]["filename"] == __file__
    assert trace[1]["time_us"] <= trace[2]["time_us"] and trace[5]["device_free"] == 1002 * MIB
    blocks = [b for s in recorded["segments"] for b in s["blocks"] if b["size"] == 3 * MIB]
    assert (
        blocks[0]["frames"][1]["name"] == "test_what_happened_and_where"
        and blocks[0]["address"] == trace[1]["addr"]
    )
    assert recorded["device_traces"][1] == []
    torch.cuda.memory._record_memory_history(None)
    del made
    assert len(torch.cuda.memory._snapshot()["device_traces"][0]) == len(actions)
    torch.cuda.empty_cache()


def test_by_hand_and_in_pools() -> None:
    _small = torch.empty(100, device="cuda")
    # By hand, and in pools.
    pointer = torch.cuda.caching_allocator_alloc(5000)
    assert torch.cuda.memory_allocated() == 512 + 5120
    torch.cuda.caching_allocator_delete(pointer)
    assert torch.cuda.memory_allocated() == 512
    with pytest.raises(RuntimeError, match="invalid device pointer"):
        torch.cuda.caching_allocator_delete(pointer)
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        assert pool.use_count() == 2
        inside = torch.ones(3, device="cuda")
    assert pool.use_count() == 1 and inside.sum() == 3
    with pytest.raises(NotImplementedError, match=re.escape("torch.cuda.MemPool.snapshot")):
        pool.snapshot()
    with pytest.raises(NotImplementedError, match=re.escape("torch.cuda.change_current_allocator")):
        torch._C._cuda_changeCurrentAllocator(None)
