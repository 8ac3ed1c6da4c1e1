"""Texts of an allocator that has no memory, pinned memory, and pointers that are none."""

import torch
from recorder.registry import expressions, question

MIB = 1 << 20


def names():
    return {"torch": torch, "MIB": MIB, "h": torch.arange(6.0), "c": torch.ones(6, device="cuda")}


expressions(
    """
    torch.empty(1 << 50, dtype=torch.uint8, device='cuda')
    torch.empty(1 << 62, dtype=torch.uint8, device='cuda')
    torch.empty(1 << 62, device='cuda')
    torch.zeros(1 << 40, 1 << 40, device='cuda')
    torch.zeros(1 << 31, 1 << 31, 8, device='cuda')
    h.expand(1 << 40, 6).to('cuda')
    c.repeat(1 << 40)
    torch.cuda.caching_allocator_alloc(1 << 50)
    torch.cuda.caching_allocator_alloc(-1)
    torch.cuda.caching_allocator_delete(12345)
    c.pin_memory()
    torch.empty(3, device='cuda', pin_memory=True)
    torch.empty(1 << 50, dtype=torch.uint8, pin_memory=True)
    h.to_sparse().pin_memory()
    h.pin_memory().is_pinned()
    h.pin_memory('cuda')
    h.pin_memory('cpu')
    h.is_pinned('cpu')
    torch.cuda.set_per_process_memory_fraction(2.0)
    torch.cuda.set_per_process_memory_fraction(-0.5)
    torch.cuda.set_per_process_memory_fraction('a')
    torch.cuda.memory._set_allocator_settings('max_split_size_mb:1')
    torch.cuda.memory._set_allocator_settings('max_split_size_mb:x')
    torch.cuda.memory._set_allocator_settings('nonsense:1')
    torch.cuda.memory._set_allocator_settings('garbage_collection_threshold:2')
    torch.cuda.memory._set_allocator_settings('roundup_power2_divisions:3')
    torch.cuda.memory._set_allocator_settings('backend:nonsense')
    torch.cuda.memory._set_allocator_settings('backend:cudaMallocAsync')
    torch.cuda.memory.change_current_allocator(None)
    torch.cuda.memory.CUDAPluggableAllocator('/nowhere.so', 'a', 'b')
    torch.cuda.memory._record_memory_history(enabled='some')
    torch.cuda.memory._load_snapshot if False else torch.cuda.memory_snapshot('nowhere')
    c.untyped_storage().resize_(1 << 50)
    torch.cuda.memory_stats('cpu')
    torch.cuda.memory_allocated('cpu')
    torch.cuda.memory_allocated('cuda:x')
    torch.cuda.memory_allocated(-5)
    torch.cuda.list_gpu_processes(99)
    torch.cuda.host_memory_stats()['num_host_alloc'] >= 0
    """,
    names,
    alone=True,
)


@question(alone=True)
def past_a_limit():
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(1024 * MIB / total)
    kept = [torch.empty(100 * MIB, dtype=torch.uint8, device="cuda") for _ in range(3)]
    del kept[1]
    return torch.empty(900 * MIB, dtype=torch.uint8, device="cuda")


@question(alone=True)
def past_a_limit_in_a_stream():
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(1024 * MIB / total)
    with torch.cuda.stream(torch.cuda.Stream()):
        return torch.empty(1100 * MIB, dtype=torch.uint8, device="cuda")


@question(alone=True)
def goes_on_after_it():
    for _ in range(3):
        try:
            torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError:
            continue
    stats = torch.cuda.memory_stats()
    return {k: stats[k] for k in ("num_ooms", "num_alloc_retries", "allocated_bytes.all.current")}


@question(alone=True)
def in_a_backward_pass():
    total = torch.cuda.get_device_properties(0).total_memory
    x = torch.ones(64 * MIB, device="cuda", requires_grad=True)
    y = (x * x).exp().sum()
    torch.cuda.set_per_process_memory_fraction(900 * MIB / total)
    y.backward()
