"""Every collective over two processes, each on its own virtual device, against what it must give."""

from __future__ import annotations

import torch
import torch.distributed as dist
from ranks import raises, spawn

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTS = (torch.uint8, torch.int8, torch.int32, torch.int64)
OTHERS = (torch.bool, torch.float8_e4m3fn, torch.float8_e5m2, torch.complex64)


def cuda(*values: object, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32).to(dtype).cuda()


def same(got: torch.Tensor, *values: object) -> None:
    assert got.is_cuda and got.device.index == dist.get_rank(), got.device
    want = torch.tensor(values, dtype=torch.float32).to(got.dtype)
    torch.testing.assert_close(got.cpu().reshape(-1), want, rtol=0, atol=0)


def reductions(rank: int) -> None:
    mine = (1, 2, 4, 8) if rank == 0 else (3, 1, 4, 2)
    results = {
        dist.ReduceOp.SUM: (4, 3, 8, 10),
        dist.ReduceOp.AVG: (2, 1.5, 4, 5),
        dist.ReduceOp.PRODUCT: (3, 2, 16, 16),
        dist.ReduceOp.MIN: (1, 1, 4, 2),
        dist.ReduceOp.MAX: (3, 2, 4, 8),
    }
    for op, want in results.items():
        for dtype in FLOATS if op == dist.ReduceOp.AVG else FLOATS + INTS:
            x = cuda(*mine, dtype=dtype)
            dist.all_reduce(x, op)
            same(x, *want)
            x = cuda(*mine, dtype=dtype)
            dist.reduce(x, 1, op)
            same(x, *(want if rank == 1 else mine))
            out = torch.empty(2, dtype=dtype, device="cuda")
            dist.reduce_scatter_tensor(out, cuda(*mine, dtype=dtype), op)
            same(out, *want[rank * 2 : rank * 2 + 2])
            dist.reduce_scatter(out, list(cuda(*mine, dtype=dtype).chunk(2)), op)
            same(out, *want[rank * 2 : rank * 2 + 2])
    x = cuda(*mine, dtype=torch.int64)
    dist.all_reduce(x, dist.ReduceOp.AVG)
    same(x, 2, 1, 4, 5)
    for factor in (2.0, torch.tensor([2.0], device="cuda")):
        x = cuda(*mine)
        dist.all_reduce(x, dist._make_nccl_premul_sum(factor))
        same(x, 8, 6, 16, 20)
    x = torch.tensor([rank == 0, True, False], device="cuda")
    dist.all_reduce(x)
    assert x.tolist() == [True, True, False]
    x = torch.tensor([1 + 2j, 3j], device="cuda")
    dist.all_reduce(x)
    assert x.tolist() == [2 + 4j, 6j]
    x = torch.arange(16.0, device="cuda").reshape(1, 4, 2, 2).to(memory_format=torch.channels_last)
    dist.all_reduce(x)
    same(x, *range(0, 32, 2))
    uneven = torch.empty(1 + rank, device="cuda")
    dist.reduce_scatter(uneven, [cuda(1), cuda(2, 3)])
    same(uneven, *([2] if rank == 0 else [4, 6]))


def movements(rank: int) -> None:
    for dtype in FLOATS + INTS + OTHERS:
        one = cuda(1, 0, dtype=dtype)
        zero = torch.zeros_like(one)
        x = one.clone() if rank == 1 else zero.clone()
        dist.broadcast(x, 1)
        assert torch.equal(x.cpu().view(torch.uint8), one.cpu().view(torch.uint8)), dtype
        mine = one if rank == 0 else zero
        both = [torch.empty_like(one) for _ in range(2)]
        dist.all_gather(both, mine)
        whole = torch.empty(4, dtype=dtype, device="cuda")
        dist.all_gather_into_tensor(whole, mine)
        stacked = torch.empty(2, 2, dtype=dtype, device="cuda")
        dist.all_gather_into_tensor(stacked, mine)
        for got in (torch.cat(both), whole, stacked.reshape(-1)):
            same(got.float() if not dtype.is_complex else got.real, 1, 0, 0, 0)
        gathered = [torch.empty_like(one) for _ in range(2)] if rank == 0 else None
        dist.gather(mine, gathered, 0)
        if gathered:
            same(gathered[0].float() if not dtype.is_complex else gathered[0].real, 1, 0)
        part = torch.empty_like(one)
        dist.scatter(part, [zero, one] if rank == 0 else None, 0)
        want = (1, 0) if rank == 1 else (0, 0)
        same(part.float() if not dtype.is_complex else part.real, *want)
    both = [torch.empty(2, device="cuda"), torch.empty(3, device="cuda")]
    dist.all_gather(both, torch.full((2 + rank,), 5.0 + rank, device="cuda"))
    same(torch.cat(both), 5, 5, 6, 6, 6)


def exchanges(rank: int) -> None:
    x = cuda(0, 1, 2, 3) + 10 * rank
    out = torch.empty(4, device="cuda")
    dist.all_to_all_single(out, x)
    same(out, *((0, 1, 10, 11) if rank == 0 else (2, 3, 12, 13)))
    rows = torch.arange(8.0, device="cuda").reshape(4, 2) + 10 * rank
    to = torch.empty(4, 2, device="cuda")
    splits = ([3, 1], [3, 1]) if rank == 0 else ([1, 3], [1, 3])
    dist.all_to_all_single(to, rows, *splits)
    same(to, *((0, 1, 2, 3, 4, 5, 10, 11) if rank == 0 else (6, 7, 12, 13, 14, 15, 16, 17)))
    sizes = (2, 1) if rank == 0 else (1, 3)
    outs = [torch.empty(n, device="cuda") for n in ((2, 1) if rank == 0 else (1, 3))]
    dist.all_to_all(outs, [torch.full((n,), float(rank), device="cuda") for n in sizes])
    same(torch.cat(outs), *((0, 0, 1) if rank == 0 else (0, 1, 1, 1)))
    if rank == 0:
        dist.send(cuda(7), 1)
        dist.isend(cuda(8, dtype=torch.int32), 1).wait()
    else:
        got = torch.empty(1, device="cuda")
        dist.recv(got, 0)
        same(got, 7)
        got = torch.empty(1, dtype=torch.int32, device="cuda")
        dist.irecv(got, 0).wait()
        same(got, 8)
    got = torch.empty(2, device="cuda")
    ops = [
        dist.P2POp(dist.irecv, got, 1 - rank),
        dist.P2POp(dist.isend, cuda(rank, rank), 1 - rank),
    ]
    for request in dist.batch_isend_irecv(ops):
        request.wait()
    same(got, 1 - rank, 1 - rank)


def objects(rank: int) -> None:
    everyone = [None, None]
    dist.all_gather_object(everyone, {"rank": rank, "at": torch.ones(1, device="cuda")})
    assert [one["rank"] for one in everyone] == [0, 1]
    # A tensor comes back on the device it was sent from.
    assert [one["at"].device.index for one in everyone] == [0, 1]
    # A tensor comes back on the device it was sent from.
    shared = [{"seed": 3}, "x"] if rank == 0 else [None, None]
    dist.broadcast_object_list(shared, 0)
    assert shared == [{"seed": 3}, "x"]
    mine = [None]
    dist.scatter_object_list(mine, ["a", "b"] if rank == 0 else None, 0)
    assert mine == ["ab"[rank]]
    gathered = [None, None] if rank == 0 else None
    dist.gather_object(rank, gathered, 0)
    assert gathered in ([0, 1], None)


def asynchronous(rank: int) -> None:
    x = torch.ones(4, device="cuda")
    work = dist.all_reduce(x, async_op=True)
    doubled = work.get_future().then(lambda done: done.value()[0] * 2)
    assert work.wait() and work.is_completed() and work.is_success()
    same(x, 2, 2, 2, 2)
    same(doubled.wait(), 4, 4, 4, 4)
    works = []
    tensors = [torch.full((1000,), float(i), device="cuda") for i in range(50)]
    for tensor in tensors:
        works.append(dist.all_reduce(tensor, dist.ReduceOp.AVG, async_op=True))
    for work in works:
        work.wait()
    assert [t[0].item() for t in tensors] == list(range(50))
    # The memory of a tensor that nobody holds is there until the work is done.
    works = [dist.all_reduce(torch.ones(10000, device="cuda"), async_op=True) for _ in range(20)]
    for work in works:
        work.wait()
    xs = [torch.full((2,), 1.0 + i, device="cuda") for i in range(3)]
    with dist._coalescing_manager(device=torch.device("cuda", rank), async_ops=True) as manager:
        for x in xs:
            dist.all_reduce(x)
    manager.wait()
    same(torch.cat(xs), 2, 2, 4, 4, 6, 6)
    outs = [torch.empty(1, device="cuda") for _ in range(2)]
    with dist._coalescing_manager():
        for i, out in enumerate(outs):
            dist.reduce_scatter_tensor(out, cuda(i, i + 1))
    same(torch.cat(outs), *((0, 2) if rank == 0 else (2, 4)))


def groups(rank: int) -> None:
    assert dist.get_backend() == "nccl" and dist.is_nccl_available()
    assert isinstance(
        dist.distributed_c10d._get_default_group()._get_backend(torch.device("cuda")),
        dist.ProcessGroupNCCL,
    )
    for ranks in ([0], [1], [0, 1]):
        group = dist.new_group(ranks)
        if rank in ranks:
            x = torch.ones(1, device="cuda")
            dist.all_reduce(x, group=group)
            same(x, len(ranks))
    mixed = dist.new_group(backend="cpu:gloo,cuda:nccl")
    for device in ("cpu", "cuda"):
        x = torch.ones(1, device=device)
        dist.all_reduce(x, group=mixed)
        assert x.item() == 2 and x.device.type == device
    gloo = dist.new_group(backend="gloo")
    x = torch.ones(2, device="cuda")
    dist.all_reduce(x, group=gloo)
    same(x, 2, 2)


def refusals(rank: int) -> None:
    raises(
        RuntimeError,
        "No backend type associated with device type cpu",
        lambda: dist.all_reduce(torch.ones(1)),
    )
    x = torch.ones(4, 4, device="cuda")
    raises(ValueError, "Tensors must be contiguous", lambda: dist.all_reduce(x.t()[:2]))
    raises(
        ValueError,
        "Cannot use ReduceOp.BAND with NCCL",
        lambda: dist.all_reduce(x.int(), dist.ReduceOp.BAND),
    )
    raises(
        TypeError,
        "Input tensor data type is not supported for NCCL process group: Short",
        lambda: dist.all_reduce(x.short()),
    )
    raises(
        TypeError,
        "Cannot use ReduceOp.AVG with boolean inputs",
        lambda: dist.all_reduce(x.bool(), dist.ReduceOp.AVG),
    )
    raises(
        ValueError,
        "output tensor size must be equal to world_size times input tensor size",
        lambda: dist.all_gather_into_tensor(x, x),
    )


def body(rank: int) -> None:
    for part in (reductions, movements, exchanges, objects, asynchronous, groups, refusals):
        part(rank)
        if rank == 0:
            print("passed:", part.__name__, flush=True)
        dist.barrier()


if __name__ == "__main__":
    spawn(body)
