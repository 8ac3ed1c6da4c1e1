"""torchport.parallelize under torchrun: every strategy trains as one process does."""

from __future__ import annotations

import os
import re
import warnings

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
import torchport
from torch import nn
from torch.distributed.tensor import DTensor
from torch.utils.checkpoint import checkpoint

WORLD = int(os.environ["WORLD_SIZE"])
KIND = "cuda" if torch.cuda.is_available() else "cpu"
STEPS, BATCH = 3, 8
MIB = 2**20


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, d = x.shape
        q, k, v = (
            layer(x).view(b, t, self.heads, -1).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(b, t, d))


class Mlp(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, 4 * width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.gate(x).softmax(-1) * self.up(x))


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = Attention(width, 4)
        self.mlp = Mlp(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm(x))
        return x + self.mlp(x)


class Language(nn.Module):
    """A small transformer whose head is tied to its embedding."""

    def __init__(self, width: int = 16, blocks: int = 3) -> None:
        super().__init__()
        self.embedding = nn.Embedding(32, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(blocks))
        self.head = nn.Linear(width, 32, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def model() -> Language:
    torch.manual_seed(0)
    return Language()


def train(net: nn.Module, device: torch.device, mine: slice) -> list[float]:
    # Not Adam: it makes steps of full size out of the rounding in gradients that are zero, such as
    # those of a key's bias.
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    chance = torch.Generator().manual_seed(1)
    losses = []
    for _ in range(STEPS):
        tokens = torch.randint(0, 32, (BATCH, 6), generator=chance)[mine].to(device)
        optimizer.zero_grad()
        loss = F.cross_entropy(net(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def trains_as_one(chosen: str, **how: object) -> torchport.ParallelPlan:
    alone = model()
    want = train(alone, torch.device("cpu"), slice(None))
    net = torchport.parallelize(model(), **how)
    plan = torchport.plan_parallel(net)
    rank = dist.get_rank()
    assert plan.strategy == chosen and plan.world == WORLD, plan
    assert plan.device == torch.device(KIND, rank if KIND == "cuda" else None), plan
    part = BATCH // WORLD
    mine = slice(None) if chosen == "tensor" else slice(rank * part, (rank + 1) * part)
    got = torch.tensor(train(net, plan.device, mine), device=plan.device)
    dist.all_reduce(got, dist.ReduceOp.SUM)
    torch.testing.assert_close((got / WORLD).cpu(), torch.tensor(want), rtol=1e-4, atol=1e-5)

    state = torchport.full_state_dict(net)
    assert list(state) == list(alone.state_dict())
    for key, value in alone.state_dict().items():
        assert type(state[key]) is torch.Tensor and state[key].device.type == "cpu", key
        torch.testing.assert_close(state[key], value, rtol=1e-3, atol=1e-4)
    model().load_state_dict(state)
    only = torchport.full_state_dict(net, rank0_only=True)
    assert bool(only) == (rank == 0)
    assert type(torchport.unwrap_model(net)).__name__.endswith("Language")
    return plan


def barriers_know_their_device() -> None:
    torchport.parallelize(model(), "ddp")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        dist.barrier()
    assert not [one for one in told if "barrier" in str(one.message)], told
    if KIND == "cuda":
        assert torch.cuda.current_device() == int(os.environ["LOCAL_RANK"])


def copies_where_they_fit() -> None:
    plan = trains_as_one("ddp")
    assert "each process has a copy" in plan.reason and plan.training_bytes > 3 * plan.model_bytes


def shards_where_copies_do_not_fit() -> None:
    whole = torchport.plan_parallel(model()).training_bytes
    plan = trains_as_one("fsdp", memory=int(whole / 0.8) - 1)
    assert f"sharded over {WORLD}" in plan.reason
    assert plan.units == ("blocks.0", "blocks.1", "blocks.2")


def split_layers_where_a_block_is_too_large() -> None:
    net = model()
    want = torchport.plan_parallel(net, "tensor")
    assert [(g.parent, g.columns, g.row) for g in want.groups[:2]] == [
        ("blocks.0.attention", ("query", "key", "value"), "out"),
        ("blocks.0.mlp", ("gate", "up"), "down"),
    ]
    plan = trains_as_one("tensor", strategy="tensor")
    assert len(plan.groups) == 6
    net = torchport.parallelize(model(), "tensor")
    weight = net.blocks[0].mlp.up.weight
    assert isinstance(weight, DTensor) and weight.to_local().shape[0] == 64 // WORLD
    assert all(isinstance(parameter, DTensor) for parameter in net.parameters())
    assert net.head.weight is net.embedding.weight
    assert net.blocks[0].norm.weight.device == torchport.plan_parallel(net).device

    tokens = torch.ones(2, 5, dtype=torch.int64, device=torchport.plan_parallel(net).device)
    grads = []
    for again in (False, True):  # blocks that run once more during backward
        x = net.embedding(tokens)
        for block in net.blocks:
            x = checkpoint(block, x, use_reentrant=False) if again else block(x)
        net.zero_grad()
        net.head(x).square().mean().backward()
        grads.append([parameter.grad.full_tensor() for parameter in net.parameters()])
    torch.testing.assert_close(grads[0], grads[1])
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    torch.optim.AdamW(net.parameters(), foreach=True).step()
    with pytest.raises(IndexError):  # a forward that fails leaves the DTensors in place
        net(torch.full_like(tokens, 99))
    assert all(isinstance(parameter, DTensor) for parameter in net.parameters())

    # A layer that stands alone, and one whose width cannot be divided.
    alone = nn.Sequential(nn.Linear(4, 3 * WORLD), nn.Tanh(), nn.Linear(3 * WORLD, 2 * WORLD + 1))
    x, want = torch.ones(2, 4), alone(torch.ones(2, 4))
    split = torchport.parallelize(alone, "tensor")
    assert [group.names() for group in torchport.plan_parallel(split).groups] == [("0",)]
    got = split(x.to(torchport.plan_parallel(split).device))
    torch.testing.assert_close(got.cpu(), want)

    torch.manual_seed(0)
    large = nn.Sequential(Mlp(64))  # one block is all there is
    alone = torchport.plan_parallel(large)
    memory = int((alone.training_bytes / WORLD + 1.5 * alone.model_bytes) / 0.8)
    assert torchport.plan_parallel(large, memory=memory).strategy == "tensor"


def what_does_not_fit_is_refused() -> None:
    with pytest.raises(
        RuntimeError, match=re.escape(f"does not fit on {WORLD} processes")
    ) as caught:
        torchport.plan_parallel(model(), memory=1000)
    assert "sharded it would be" in str(caught.value)
    with pytest.raises(ValueError, match="no strategy 'dp'; choose from auto, single, ddp"):
        torchport.parallelize(model(), "dp")
    with pytest.raises(RuntimeError, match="there are no linear layers to split"):
        torchport.parallelize(nn.Sequential(nn.Conv2d(1, 1, 1)), "tensor")
    frozen = model().requires_grad_(False)
    assert type(torchport.parallelize(frozen, "ddp")) is Language


def wrappers_are_taken_off() -> None:
    net = model()
    net.blocks[1] = torch.compile(net.blocks[1], backend="eager")
    wrapped = torch.compile(torchport.parallelize(net, "ddp"), backend="eager")
    assert torchport.unwrap_model(wrapped) is net
    assert any("_orig_mod" in key for key in net.state_dict())
    assert list(torchport.full_state_dict(wrapped)) == list(model().state_dict())
    assert torchport.unwrap_model(nn.DataParallel(net)) is net
    averaged = torch.optim.swa_utils.AveragedModel(model())
    assert list(torchport.full_state_dict(averaged)) == list(model().state_dict())


for check in (
    barriers_know_their_device,
    copies_where_they_fit,
    shards_where_copies_do_not_fit,
    split_layers_where_a_block_is_too_large,
    what_does_not_fit_is_refused,
    wrappers_are_taken_off,
):
    check()
    print(f"passed: {check.__name__}\n", end="", flush=True)
if dist.is_initialized():
    dist.destroy_process_group()
