"""Tensors of zeros without memory, which forward-mode differentiation makes of tangents."""

from collections.abc import Callable

import pytest
import torch
import torch.autograd.forward_ad as forward_ad
from sides import same
from torch.func import grad, jacfwd, jacrev, jvp, linearize, vmap

pytestmark = pytest.mark.devices("cuda:1")

CALLS: dict[str, Callable[[torch.Tensor], object]] = {
    "kept by views": lambda z: [
        v._is_zerotensor() for v in (z[0], z.T, z.view(6), z.unsqueeze(0), z.expand(4, 2, 3))
    ],
    "kept by products": lambda z: (z * 2)._is_zerotensor(),
    "cloned": lambda z: (z.clone(), z.clone()._is_zerotensor()),
    "copied": lambda z: torch.ones(2, 3, device=z.device).copy_(z),
    "added": lambda z: (z + torch.ones(2, 3, device=z.device), z + z),
    "like it": lambda z: (torch.zeros_like(z), torch.ones_like(z)),
    "dot": lambda z: (z[0].dot(torch.ones(3, device=z.device)), torch.vdot(z[0], z[1])),
    "reduced": lambda z: (z.sum(), z.exp(), z @ z.T, torch.cat([z, z]), torch.stack([z])),
    "conjugate": lambda z: (z.to(torch.cfloat).conj(), z.to(torch.cfloat).mH + 1),
    "moved": lambda z: (z.double(), z.half(), z.cpu().sum().item()),
}


@pytest.mark.parametrize("name", CALLS)
def test_operators_take_them(name: str) -> None:
    def call(start: torch.Tensor) -> object:
        return CALLS[name](torch._efficientzerotensor((2, 3), device=start.device))

    same(call, torch.ones(1))


def test_they_cannot_be_written() -> None:
    zeros = torch._efficientzerotensor((2, 3), device="cuda")
    for write in (lambda: zeros.add_(1), lambda: zeros.mul_(2), lambda: zeros.copy_(zeros + 1)):
        with pytest.raises(RuntimeError, match="ZeroTensors are immutable"):
            write()


def test_derivatives_of_derivatives() -> None:
    def composed(x: torch.Tensor) -> object:
        def inner(x: torch.Tensor) -> torch.Tensor:
            return x.sin().square().sum()

        value, tangent = linearize(grad(inner), x)
        return (
            value,
            tangent(torch.ones_like(x)),
            jvp(grad(inner), (x,), (x + 1,)),
            jacfwd(jacrev(inner))(x),
            jacfwd(jacfwd(inner))(x),
            vmap(grad(inner))(x.expand(2, 3)),
        )

    same(composed, torch.tensor([0.1, 0.5, -2.0]))


def test_tangents_that_are_not_there() -> None:
    def one_of_two(x: torch.Tensor) -> object:
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, x + 1)
            parts = torch.stack([dual, x]), torch.cat([x, dual]), torch.where(x > 0, x, dual)
            return [forward_ad.unpack_dual(part).tangent for part in parts]

    same(one_of_two, torch.tensor([0.1, 0.5, -2.0]))
