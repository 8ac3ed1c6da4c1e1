"""Checkpoints of private pools: what CUDA graph trees ask of the allocator."""

import gc

import pytest
import torch
from captured import capture

pytestmark = pytest.mark.devices("cuda:1")

MIB = 1 << 20


def segments(pool) -> list:
    return [s for s in torch.cuda.memory_snapshot() if s["segment_pool_id"] == pool]


def blocks(pool) -> list[list[tuple[int, str]]]:
    return [[(b["size"], b["state"]) for b in s["blocks"]] for s in segments(pool)]


def live(pool) -> int:
    return sum(b["state"] == "active_allocated" for s in segments(pool) for b in s["blocks"])


def full(bytes_of_one: int, value: int = 1) -> torch.Tensor:
    return torch.full([bytes_of_one], value, device="cuda", dtype=torch.uint8)


def state(pool):
    return torch._C._cuda_getCheckpointState(0, pool)


def return_to(checkpoint, stale=(), owners=()) -> None:
    torch._C._cuda_setCheckpointPoolState(
        0,
        checkpoint,
        [t.untyped_storage()._cdata for t in stale],
        [t.untyped_storage()._cdata for t in owners],
    )


def storage_like(tensor: torch.Tensor) -> tuple:
    storage = tensor.untyped_storage()
    return storage.data_ptr(), tensor.device, storage.nbytes()


def over(description: tuple) -> torch.Tensor:
    storage = torch._C._construct_storage_from_data_pointer(*description)
    return torch.empty(0, device="cuda", dtype=torch.uint8).set_(storage)


def several() -> tuple:
    x = full(8 * MIB)
    small = [full(512) for _ in range(11)]
    y = full(MIB) + full(MIB)
    return x, small[5], small[8], y


@pytest.mark.parametrize("keep", [slice(0, 4), slice(1, 2), slice(1, 3), slice(3, 4)])
def test_a_pool_returns_to_where_it_is(keep: slice) -> None:
    graph, results = capture(lambda: several()[keep])
    pool, before = graph.pool(), torch.cuda.memory_stats()
    seen = blocks(pool)
    checkpoint = state(pool)
    return_to(checkpoint)
    assert blocks(pool) == seen
    after = torch.cuda.memory_stats()
    names = [n for n in before if n.endswith(".current")]
    assert {n: after[n] for n in names} == {n: before[n] for n in names}
    count = live(pool)
    del results
    assert live(pool) == 0 != count


def test_what_came_later_is_freed_and_must_be_named() -> None:
    graph, first = capture(lambda: full(512))
    pool = graph.pool()
    seen, checkpoint = blocks(pool), state(pool)
    _other, second = capture(lambda: (full(512), full(512)), pool=pool)
    with pytest.raises(RuntimeError, match="Any stale tensors which are being manually freed"):
        return_to(checkpoint, stale=second[:1])
    _other, second = capture(lambda: (full(512), full(512)), pool=pool)
    return_to(checkpoint, stale=second)
    assert blocks(pool) == seen
    del second
    assert blocks(pool) == seen
    graph.replay()
    assert first.sum().item() == 512


def test_blocks_outlive_their_tensors() -> None:
    graph, results = capture(lambda: (full(512), full(512)))
    pool, checkpoint = graph.pool(), state(graph.pool())
    addresses = [t.data_ptr() for t in results]
    del results
    assert live(pool) == 0
    return_to(checkpoint)
    for left, address in zip((1, 0), addresses, strict=True):
        assert live(pool) == left + 1
        torch._C._cuda_cudaCachingAllocator_raw_delete(address)
        assert live(pool) == left
    with pytest.raises(RuntimeError, match="invalid device pointer"):
        torch._C._cuda_cudaCachingAllocator_raw_delete(addresses[0])


def test_tensors_over_the_results_of_a_graph() -> None:
    x = torch.ones(1, device="cuda", dtype=torch.uint8)
    graph, results = capture(lambda: [full(2 * MIB) + x, full(20 * MIB) + x, full(512) + x])
    graph.replay()
    pool, checkpoint = graph.pool(), state(graph.pool())
    described = [storage_like(t) for t in results]
    results.clear()
    assert live(pool) == 0
    again = [over(d) for d in described]
    assert [t[-1].item() for t in again] == [2, 2, 2] and live(pool) == 0
    x.add_(1)
    graph.replay()
    assert [t.float().mean().item() for t in again] == [3.0, 3.0, 3.0]
    return_to(checkpoint, owners=again[:2])
    owns = [torch._C._has_Standard_Deleter(t.untyped_storage()._cdata) for t in again]
    assert owns == [True, True, False] and live(pool) == 3
    with pytest.raises(RuntimeError, match="Not expecting deleter function"):
        return_to(checkpoint, owners=again[:1])
    torch._C._free_And_Remove_DeleterFn(again[0].untyped_storage()._cdata)
    assert live(pool) == 2 and again[0][-1].item() == 3
    again[0] = again[1] = None
    assert live(pool) == 1
    again[2] = None
    assert live(pool) == 1
    torch._C._cuda_cudaCachingAllocator_raw_delete(described[2][0])
    assert live(pool) == 0


def test_inputs_of_a_graph_that_are_gone() -> None:
    # The tensor's memory is given back, the bytes stay for the graph.
    gc.collect()
    before = torch.cuda.memory_allocated()
    x = torch.ones(1000, device="cuda")
    held = [x]
    graph, y = capture(lambda: held[0] * 2)
    x.fill_(3)
    held.clear()
    del x
    assert torch.cuda.memory_allocated() - before < 2 * 4096 + 2048
    graph.replay()
    assert y[0].item() == 6
    del y, graph
    gc.collect()
    assert torch.cuda.memory_allocated() == before


def test_which_blocks_are_live() -> None:
    handle = torch.cuda.graph_pool_handle()
    _graph, result = capture(lambda: torch.ones(4, device="cuda"), pool=handle)

    def are_live(addresses: set) -> bool:
        return torch._C._cuda_checkPoolLiveAllocations(0, handle, addresses)

    assert are_live({result.data_ptr()})
    assert not are_live({result.data_ptr(), 0}) and not are_live(set())
    del result
    assert are_live(set())
    cycle = [torch.cuda.graph_pool_handle()]
    with pytest.raises(RuntimeError, match="Could not find pool of id"):
        torch._C._cuda_checkPoolLiveAllocations(0, cycle[0], set())
    with pytest.raises(RuntimeError, match="Could not find pool of id"):
        state(cycle[0])


def test_what_may_not_be_used_says_why() -> None:
    tensor = torch.ones(4, device="cuda")
    storage = tensor.untyped_storage()
    torch._C._set_storage_data_ptr_access_error_msg(storage._cdata, "the data is gone")
    with pytest.raises(RuntimeError, match="the data is gone"):
        tensor + 1
    other = torch.ones(4, device="cuda")
    torch._C._set_storage_access_error_msg(other, "the storage is gone")
    for use in (lambda: other + 1, other.data_ptr, other.tolist):
        with pytest.raises(RuntimeError, match="the storage is gone"):
            use()


def test_pointers_are_compared_by_index() -> None:
    tensors = [torch.ones(2, device="cuda"), None, torch.ones(2, device="cuda")]
    pointers = [tensors[0].data_ptr(), 0, 7]
    equal = torch._C._tensors_data_ptrs_at_indices_equal
    assert equal(tensors, pointers, [0]) and equal(tensors, pointers, [])
    assert not equal(tensors, pointers, [0, 2])


def test_results_of_kernels_lie_in_the_pool() -> None:
    q = torch.ones(1, 4, 8, 16, device="cuda", requires_grad=True)
    layer, x = torch.nn.LSTM(12, 7).cuda(), torch.ones(5, 6, 12, device="cuda")
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        output = torch.nn.functional.scaled_dot_product_attention(q, q, q)
        (gradient,) = torch.autograd.grad(output.sum(), q)
        with torch.no_grad():
            results, (hidden, cell) = layer(x)
        total = x + x
    places = {block["address"] for segment in segments(pool.id) for block in segment["blocks"]}
    held = (total, output, gradient, results, hidden, cell)
    assert [tensor.untyped_storage().data_ptr() in places for tensor in held] == [True] * 6
