"""Work over the devices of one process: copies, DataParallel; and mixed precision."""

import copy
import re

import pytest
import torch
import torch.cuda.comm as comm
import torch.cuda.nccl as nccl

pytestmark = [pytest.mark.devices("cuda:2"), pytest.mark.usefixtures("seeded")]


CUDA0, CUDA1 = torch.device("cuda:0"), torch.device("cuda:1")


def network() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))


def test_copies() -> None:
    # Copies.
    t = torch.arange(6.0, device="cuda")
    assert [c.device for c in comm.broadcast(t, [0, 1])] == [CUDA0, CUDA1]
    assert torch.equal(comm.broadcast(t, out=[torch.empty(6, device="cuda:1")])[0].cpu(), t.cpu())
    coalesced = comm.broadcast_coalesced([t, t + 1], [0, 1])
    assert [[c.device for c in row] for row in coalesced] == [[CUDA0] * 2, [CUDA1] * 2]
    parts = comm.scatter(t, [0, 1])
    assert [p.tolist() for p in parts] == [[0, 1, 2], [3, 4, 5]] and parts[1].device == CUDA1
    assert [p.numel() for p in comm.scatter(torch.arange(5), [0, 1], chunk_sizes=[2, 3])] == [2, 3]
    assert torch.equal(comm.gather(parts), t) and comm.gather(parts, destination="cpu").is_cpu
    assert comm.gather(parts, destination=1).device == CUDA1
    assert comm.gather(parts, out=torch.empty(6, device="cuda:1")).device == CUDA1
    on_cpu = "Expected all input tensors to be CUDA tensors, but tensor at index 0 has device cpu"
    with pytest.raises(RuntimeError, match=re.escape(on_cpu)):
        comm.gather([torch.ones(2)])
    ones = [torch.ones(3, device=f"cuda:{i}") for i in range(2)]
    assert comm.reduce_add(ones, 1).tolist() == [2] * 3 and comm.reduce_add(ones, 1).device == CUDA1
    assert comm.reduce_add_coalesced([[o] for o in ones], 0)[0].tolist() == [2.0] * 3
    assert nccl.is_available(ones) and len(nccl.version()) == 3
    nccl.all_reduce(ones)
    assert all(o.tolist() == [2.0] * 3 for o in ones)
    assert len(nccl.unique_id()) == 128
    with pytest.raises(NotImplementedError, match=re.escape("torch.cuda.nccl.init_rank")):
        nccl.init_rank(1, nccl.unique_id(), 0)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda a, b: nccl.all_reduce([a, b.cpu()]), "have to be cuda dense Tensors"),
        (lambda a, b: nccl.all_reduce([a.to_sparse()]), "have to be cuda dense Tensors"),
        (lambda a, b: nccl.all_reduce([]), "input sequence can't be empty"),
        (
            lambda a, b: nccl.all_reduce([a, b], [a]),
            "of the same length, but got input of length 2",
        ),
        (lambda a, b: nccl.all_reduce([a, b.double()]), "of the same Tensor dtype"),
        (lambda a, b: nccl.all_reduce([a, b[:2]]), "must have the same number of elements"),
        (lambda a, b: nccl.all_reduce([a, b], [b, a]), "must be on the same device"),
        (lambda a, b: nccl.all_reduce([a, a]), "inputs must be on unique devices"),
        (lambda a, b: nccl.all_gather([a, b], [a, b]), "output must be of size input_size"),
        (lambda a, b: nccl.broadcast([a, b], root=2), "invalid root"),
        (lambda a, b: nccl.broadcast([a[::2], b[::2]]), "have to be contiguous"),
    ],
)
def test_collectives_of_one_process_that_are_refused(call, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        call(*(torch.ones(4, device=f"cuda:{i}") for i in range(2)))


def test_data_parallel() -> None:
    # DataParallel computes and learns what one device does.
    single = network().cuda()
    double = torch.nn.DataParallel(copy.deepcopy(single))
    x = torch.randn(8, 3, device="cuda")
    for model in (single, double):
        model(x).square().sum().backward()
    assert torch.equal(single(x), double(x)) and double(x).device == CUDA0
    for ours, theirs in zip(single.parameters(), double.module.parameters(), strict=True):
        assert torch.allclose(ours.grad, theirs.grad) and theirs.grad.device == CUDA0
    assert torch.nn.DataParallel(single, output_device=1)(x).device == CUDA1
    assert torch.nn.parallel.replicate(single, [0, 1])[1][0].weight.device == CUDA1
    normed = torch.nn.DataParallel(torch.nn.BatchNorm1d(3).cuda())
    normed(x)
    assert normed.module.num_batches_tracked == 1 and normed.module.running_mean.abs().sum() > 0


def test_mixed_precision() -> None:
    single, x = network().cuda(), torch.randn(8, 3, device="cuda")
    # Mixed precision.
    for autocast in (lambda: torch.autocast("cuda"), torch.cuda.amp.autocast):
        with autocast():
            assert torch.is_autocast_enabled("cuda") and single(x).dtype == torch.float16
            assert torch.softmax(single(x), -1).dtype == torch.float32
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0, growth_interval=2)
    optimizer = torch.optim.SGD(single.parameters(), lr=0.1)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = single(x).square().mean()
        losses.append(loss.item())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(single.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    assert losses == sorted(losses, reverse=True) and scaler.get_scale() == 4096.0
    optimizer.zero_grad()
    weight = single[0].weight.clone()
    scaler.scale((single(x) * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert torch.equal(weight, single[0].weight) and scaler.get_scale() == 2048.0


def peak_beside(device: int, call: object) -> tuple[object, int]:
    """What a call returns, and the most that it took of a device beside what there was."""
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    result = call()  # type: ignore[operator]
    return result, torch.cuda.max_memory_allocated(device) - before


MIB = 1 << 20


def test_copies_of_a_model_share_buffers() -> None:
    # As broadcast_coalesced() of torch/csrc/cuda/comm.cpp: buffers of 10 MiB or one tensor more.
    tensors = [torch.full((MIB,), float(i), device="cuda") for i in range(4)]  # of 4 MiB
    small = torch.ones(3, device="cuda", dtype=torch.float16)
    given = [tensors[0], small, *tensors[1:]]
    rows, of_first = peak_beside(0, lambda: comm.broadcast_coalesced(given, [0, 1]))
    assert of_first == 12 * MIB  # three tensors, joined to be sent
    assert all(one is other for one, other in zip(rows[0], given, strict=True))
    assert [(one.dtype, one.sum().item()) for one in rows[1]] == [
        (one.dtype, one.sum().item()) for one in given
    ]
    owners = [one.untyped_storage().data_ptr() for one in rows[1]]
    assert owners[0] == owners[2] == owners[3] and len(set(owners)) == 3
    version = rows[1][2]._version
    rows[1][0].add_(1)
    assert rows[1][2]._version == version and not rows[1][0]._is_view()
    sparse = torch.eye(3, device="cuda").to_sparse()
    copied = comm.broadcast_coalesced([sparse, small], [0, 1])[1]
    assert copied[0].is_sparse and torch.equal(copied[0].to_dense().cpu(), torch.eye(3))
    assert comm.broadcast_coalesced([], [0, 1]) == [[], []]


def test_collectives_of_one_process_take_no_memory() -> None:
    ones = [torch.ones(MIB, device=f"cuda:{i}") for i in range(2)]
    assert peak_beside(0, lambda: nccl.all_reduce(ones))[1] == 0
    assert ones[1].sum().item() == 2 * MIB
    total, taken = peak_beside(0, lambda: comm.reduce_add(ones, 0))
    assert taken == 4 * MIB and total.sum().item() == 4 * MIB
    joined, taken = peak_beside(1, lambda: comm.gather(ones, destination=1))
    assert taken == 8 * MIB and joined.sum().item() == 4 * MIB
    images = [torch.ones(1, 2, 3, 3, device=f"cuda:{i}") for i in range(2)]
    last = [one.to(memory_format=torch.channels_last) for one in images]
    assert comm.gather(last).is_contiguous(memory_format=torch.channels_last)
    parts = [torch.zeros(MIB // 2, device=f"cuda:{i}") for i in range(2)]
    assert peak_beside(0, lambda: nccl.reduce_scatter(ones, parts))[1] == 0
    assert parts[1].unique().tolist() == [4.0]
    nccl.all_gather(parts, ones)
    assert ones[0].sum().item() == 4 * MIB
    halves = [torch.full((4,), 2.0, device=f"cuda:{i}", dtype=torch.half) for i in range(2)]
    for op, value in enumerate([4.0, 4.0, 2.0, 2.0]):  # sum, product, largest, smallest
        result = torch.empty(4, device="cuda:1", dtype=torch.half)
        nccl.reduce(halves, result, root=1, op=op)
        assert result.tolist() == [value] * 4


def test_what_a_host_scatters_lies_on_the_given_streams() -> None:
    streams = [torch.cuda.Stream(i) for i in range(2)]
    host = torch.ones(2, 16 * MIB)
    before = {one["address"] for one in torch.cuda.memory_snapshot()}
    parts = comm.scatter(host, [0, 1], streams=streams)
    assert [part.sum().item() for part in parts] == [16 * MIB] * 2
    made = [one for one in torch.cuda.memory_snapshot() if one["address"] not in before]
    assert {(one["device"], one["stream"]) for one in made if one["total_size"] >= 64 * MIB} == {
        (i, stream.cuda_stream) for i, stream in enumerate(streams)
    }
    with pytest.raises(RuntimeError, match=re.escape("at index 0 (was 1) to match the device")):
        comm.scatter(host, [0, 1], streams=streams[::-1])
    outs = [torch.zeros(1, 16 * MIB, device=f"cuda:{i}") for i in range(2)]
    comm.scatter(host, out=outs, streams=streams)
    assert [one.sum().item() for one in outs] == [16 * MIB] * 2


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda a, b: comm.gather([a.cpu(), b]), "index 0 has device cpu"),
        (lambda a, b: comm.gather([a, b.cpu()], out=a), "index 1 has device 'cpu'"),
        (lambda a, b: comm.gather([a, b], out=a), "out tensor to have shape [8], but got [4]"),
        (lambda a, b: comm.gather([a.view(2, 2), b.view(4, 1)]), "1 has invalid shape [4, 1]"),
        (lambda a, b: comm.broadcast(a, out=[b.cpu()]), "index 0 has device 'cpu'"),
        (lambda a, b: comm.broadcast(a, out=[b[:2]]), "tensor at index 0 has shape [2]"),
        (lambda a, b: comm.broadcast(a, out=[b.double()]), "of the same Tensor dtype"),
        (lambda a, b: comm.broadcast_coalesced([a, b], [0, 1]), "must be on devices[0]: 0"),
        (lambda a, b: comm.broadcast_coalesced([a.cpu()], [0, 1]), "must be on devices[0]: 0"),
        (lambda a, b: nccl.all_reduce([a, b], op=7), "NCCL Error 4: invalid argument"),
    ],
)
def test_copies_that_are_refused(call, text: str) -> None:
    with pytest.raises(RuntimeError, match=re.escape(text)):
        call(*(torch.ones(4, device=f"cuda:{i}") for i in range(2)))
