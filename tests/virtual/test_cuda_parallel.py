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
    on_cpu = "Expected all input tensors to be CUDA tensors, but tensor at index 0 is on cpu"
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
