"""torch.func: vmap, grad and the like, and random numbers under vmap."""

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from sides import on, same
from torch.func import (
    functional_call,
    functionalize,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)

# The CPU's random numbers, because each test compares with the CPU.
pytestmark = [
    pytest.mark.devices("cuda:2", random="cpu"),
    pytest.mark.usefixtures("seeded"),
]


torch.manual_seed(0)
x, w = torch.randn(4, 3), torch.randn(3, 5)


def layer(x, w):
    return (x @ w).tanh()


def test_transforms() -> None:
    for transform in (
        lambda x, w: vmap(lambda row: layer(row, w))(x),
        lambda x, w: vmap(layer, in_dims=(0, None), out_dims=1, chunk_size=3)(x, w),
        lambda x, w: grad(lambda x, w: layer(x, w).sum(), argnums=(0, 1))(x, w),
        lambda x, w: vmap(grad(lambda w, row: layer(row, w).sum()), in_dims=(None, 0))(w, x),
        lambda x, w: vjp(layer, x, w)[1](torch.ones(4, 5, device=x.device)),
        lambda x, w: jvp(lambda x: layer(x, w), (x,), (torch.ones_like(x),)),
        lambda x, w: linearize(lambda x: layer(x, w), x)[1](torch.ones_like(x)),
        lambda x, w: jacrev(lambda x: layer(x, w))(x),
        lambda x, w: jacrev(lambda x: layer(x, w), chunk_size=3)(x),
        lambda x, w: jacfwd(lambda x: layer(x, w))(x),
        lambda x, w: hessian(lambda x: layer(x, w).sum())(x),
        lambda x, w: functionalize(lambda x: x.clone().add_(1).view(-1).mul_(2))(x),
        lambda x, w: torch.autograd.functional.jacobian(lambda x: layer(x, w), x, vectorize=True),
        lambda x, w: vmap(torch.linalg.solve, in_dims=(0, None))(
            torch.eye(3, device=x.device) + x[:, None], x[0]
        ),
    ):
        same(transform, x, w)


def each_sample(images: torch.Tensor, kinds: torch.Tensor, weight: torch.Tensor) -> object:
    """Gradients of each sample of a batch."""
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten())
    net = net.to(images.device)
    state = {name: p.detach().fill_(0.1) for name, p in net.named_parameters()}

    def loss(state, weight, image, kind):
        out = functional_call(net, state, (image[None],)) @ weight
        return F.cross_entropy(out, kind[None])

    return vmap(grad(loss, argnums=(0, 1)), in_dims=(None, None, 0, 0))(
        state, weight, images, kinds
    )


def test_gradients_of_each_sample() -> None:
    same(each_sample, torch.randn(4, 1, 8, 8), torch.arange(4), torch.randn(144, 5))


def test_attention() -> None:
    q = torch.randn(3, 2, 2, 8, 4)
    same(lambda q: vmap(lambda q: F.scaled_dot_product_attention(q, q, q))(q), q)


def test_stacked_models() -> None:
    models = [nn.Linear(3, 2) for _ in range(3)]
    params, buffers = torch.func.stack_module_state([m.cuda() for m in models])
    out = vmap(lambda p, b, x: functional_call(models[0], (p, b), x), in_dims=(0, 0, None))(
        params, buffers, x.cuda()
    )
    assert out.is_cuda
    for model, part in zip(models, out, strict=True):
        torch.testing.assert_close(model(x.cuda()), part)


# Random numbers: the same for all samples, others for each, or refused.
RANDOM = (
    lambda row: row + torch.randn(3, device=row.device),
    lambda row: row + torch.rand_like(row[:2]).sum(),
    lambda row: torch.randint(10, (4,), device=row.device),
    lambda row: torch.randperm(5, device=row.device),
    lambda row: F.dropout(row),
    lambda row: F.dropout1d(row[None].expand(2, 3), training=True),
    lambda row: torch.bernoulli(torch.full((9,), 0.5, device=row.device)),
    lambda row: torch.multinomial(torch.ones(4, device=row.device), 2),
)


def test_random_numbers() -> None:
    for draw in RANDOM:
        for mode in ("same", "different"):
            same(lambda x, f=draw, m=mode: vmap(f, randomness=m)(x), x)
        for device in ("cpu", "cuda"):
            call = lambda f=draw, d=device: on(d, lambda x: vmap(f)(x), x)  # noqa: E731
            with pytest.raises(RuntimeError, match="randomness error mode"):
                call()


def test_random_numbers_are_the_same_or_different() -> None:
    ones = torch.ones(4, 3, device="cuda")
    noise = vmap(RANDOM[0], randomness="same")(ones)
    assert all(torch.equal(noise[0], row) for row in noise)
    noise = vmap(RANDOM[0], randomness="different")(ones)
    assert not torch.equal(noise[0], noise[1])
