"""Accounts, limits and pools of memory."""

import pickle
import platform
import re
import threading
from collections.abc import Callable, Iterator

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
    torch.cuda.memory._record_memory_history(max_entries=1000, stacks="python")
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
    assert torch.cuda.memory._snapshot()["device_traces"][0] == []  # the record ends with its trace
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
    with pytest.raises(RuntimeError, match="Can't swap an already initialized allocator"):
        torch._C._cuda_changeCurrentAllocator(None)


def test_pools_are_apart() -> None:
    torch.cuda.empty_cache()
    pool, other = torch.cuda.MemPool(), torch.cuda.MemPool()
    assert pool.id[0] == 0 and other.id == (0, pool.id[1] + 1)
    before = torch.cuda.memory_reserved()
    with torch.cuda.use_mem_pool(pool):
        inside = torch.empty(3 * MIB, dtype=torch.uint8, device="cuda")
        outside: list[torch.Tensor] = []
        thread = threading.Thread(target=lambda: outside.append(make()))
        thread.start()
        thread.join()
        with pytest.raises(RuntimeError, match="already recording to mempool_id"):
            torch._C._cuda_beginAllocateCurrentThreadToPool(0, pool.id)
    assert torch.cuda.memory_reserved() - before == 40 * MIB
    assert [s["total_size"] for s in pool.snapshot()] == [20 * MIB] and other.snapshot() == []
    assert pool.snapshot()[0]["segment_pool_id"] == pool.id
    del inside
    again = make()  # takes nothing of the pool, though it is free there
    assert torch.cuda.memory_reserved() - before == 40 * MIB
    assert [b["state"] for b in pool.snapshot()[0]["blocks"]] == ["inactive"]
    torch.cuda.empty_cache()
    assert len(pool.snapshot()) == 1  # it is the pool's
    outside.clear()
    del again, pool
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == before
    with pytest.raises(RuntimeError, match="Could not find pool of id"):
        torch._C._cuda_releasePool(0, (0, 4711))


def test_a_pool_without_splits() -> None:
    pool = torch.cuda.MemPool(no_split=True)
    before = torch.cuda.memory_allocated()
    with torch.cuda.use_mem_pool(pool):
        whole = torch.empty(100, device="cuda")
    assert torch.cuda.memory_allocated() - before == 2 * MIB
    del whole, pool


def test_who_is_told_of_a_full_device() -> None:
    told: list[tuple[int, ...]] = []
    torch.cuda.set_per_process_memory_fraction(1.0, 1)
    torch._C._cuda_attach_out_of_memory_observer(lambda *figures: told.append(figures))
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(2 << 30, dtype=torch.uint8, device="cuda:1")
    assert told == [(1, 2 << 30, 1 << 30, 1 << 30)]
    torch.cuda.set_per_process_memory_fraction(0.5, 1)
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(2 << 30, dtype=torch.uint8, device="cuda:1")
    assert told[1] == (1, 2 << 30, 1 << 29, 1 << 30)
    torch.cuda.set_per_process_memory_fraction(1.0, 1)
    with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate more than 1EB memory"):
        torch.empty(1 << 61, dtype=torch.uint8, device="cuda")
    assert len(told) == 2


def test_whose_lines_are_recorded() -> None:
    # What each context records, in snapshots and traces: RecordContext of the real allocator.
    def traced(context: str | None, **options: str) -> tuple[str, str, str]:
        torch.cuda.empty_cache()
        torch.cuda.memory._record_memory_history(context=context, clear_history=True, **options)
        kept, gone = make(), make()
        free(gone)
        snapshot = torch.cuda.memory._snapshot()
        torch.cuda.memory._record_memory_history(None)
        events = snapshot["device_traces"][0]
        alloc = [e for e in events if e["action"] == "alloc"]
        freed = [e for e in events if e["action"] == "free_completed"]
        blocks = [b for s in snapshot["segments"] for b in s["blocks"] if b["size"] == 3 * MIB]
        del kept
        return str(blocks[-1]["frames"]), str(alloc[-1]["frames"]), str(freed[-1]["frames"])

    def free(tensor: torch.Tensor) -> None:
        tensor.set_()

    block, alloc, freed = traced("all", stacks="python")
    assert "make" in block and "make" in alloc and "'free'" in freed
    block, alloc, freed = traced("alloc", stacks="python")
    assert "make" in alloc and "'free'" not in freed and "make" in freed
    block, alloc, freed = traced("state", stacks="python")
    assert "make" in block and alloc == freed == "[]"
    assert traced(None) == ("[]", "[]", "[]")
    assert ("::empty" in traced("all", stacks="all")[1]) == (platform.machine() == "x86_64")


@pytest.fixture
def settings() -> Iterator[Callable[[str], None]]:
    if not hasattr(torch._C, "_accelerator_setAllocatorSettings"):
        pytest.skip("torch 2.10 brought the settings that a build without CUDA reads")
    yield torch._C._accelerator_setAllocatorSettings
    torch._C._accelerator_setAllocatorSettings("")


def test_settings_of_the_allocator(settings: Callable[[str], None]) -> None:
    def taken(size: int) -> int:
        torch.cuda.empty_cache()
        before = torch.cuda.memory_stats()["active_bytes.all.allocated"]
        torch.empty(size, dtype=torch.uint8, device="cuda")
        return torch.cuda.memory_stats()["active_bytes.all.allocated"] - before

    assert taken(84 * MIB) == 84 * MIB
    settings("roundup_power2_divisions:4")
    assert taken(84 * MIB) == 96 * MIB
    settings("roundup_power2_divisions:[64:8,128:2,>:1]")
    assert taken(84 * MIB) == 88 * MIB and taken(400 * MIB) == 400 * MIB
    settings("max_split_size_mb:40,garbage_collection_threshold:0.5")
    assert torch.cuda.memory_stats()["max_split_size"] == 40 * MIB
    said = torch.cuda.memory._snapshot()["allocator_settings"]
    assert said["max_split_size"] == 40 * MIB and said["garbage_collection_threshold"] == 0.5
    large = torch.empty(60 * MIB, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_stats()["oversize_allocations.current"] == 1
    del large
    settings("backend:native,release_lock_on_cudamalloc:True,expandable_segments:False")
    for text, words in (
        ("foo:1,bar:2", "Unrecognized key 'foo'"),
        ("garbage_collection_threshold:1.2", "garbage_collect_threshold"),
        ("max_split_size_mb:2", "max_split_size_mb"),
        ("release_lock_on_cudamalloc:none", "none"),
        ("pinned_use_cuda_host_register:none", "none"),
        ("pinned_num_register_threads:1024", "less than or equal to 128, got 1024"),
        ("pinned_num_register_threads:3", "power of 2, got 3"),
        ("backend:other", "options are native and cudaMallocAsync"),
    ):
        with pytest.raises((RuntimeError, ValueError), match=re.escape(words)):
            settings(text)
    with pytest.raises(RuntimeError, match="parsed at runtime != allocator backend parsed at load"):
        settings("backend:cudaMallocAsync")


def test_memory_of_the_program_is_pinned() -> None:
    cudart, host = torch.cuda.cudart(), torch.ones(20)
    place = host.data_ptr(), host.nbytes
    assert not host.is_pinned() and cudart.cudaHostRegister(*place, 0) == 0
    assert host.is_pinned() and host[10:].is_pinned()
    assert cudart.cudaHostRegister(*place, 0) == 712
    assert cudart.cudaHostUnregister(place[0]) == 0 and not host.is_pinned()
    assert cudart.cudaHostUnregister(place[0]) == 713
    with pytest.raises(torch.cuda.CudaError, match="out of memory"):
        torch.cuda.check_error(2)


def test_only_memory_of_a_device_is_shared_as_such() -> None:
    for device in ("meta", "cpu"):
        with pytest.raises(RuntimeError, match="_share_cuda_: only available on CUDA"):
            torch.UntypedStorage(4, device=device)._share_cuda_()
