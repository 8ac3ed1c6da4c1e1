"""Autograd: hooks, checkpoints, double backward, functions of the program's own, inference mode."""

import functools
import threading

import pytest
import torch
import torch.autograd.forward_ad as forward_ad
import torch.nn as nn
import torch.nn.functional as F
from sides import SEED, same
from torch.autograd.graph import (
    register_multi_grad_hook,
    save_on_cpu,
    saved_tensors_hooks,
)
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
)

# The CPU's random numbers, because each test compares with the CPU.
pytestmark = [
    pytest.mark.devices("cuda:2", random="cpu"),
    pytest.mark.usefixtures("seeded"),
]


torch.manual_seed(0)
x, w = torch.randn(4, 3), torch.randn(3, 5, requires_grad=True)


def hooks(x: torch.Tensor, w: torch.Tensor) -> object:
    seen = []
    w.register_hook(lambda g: (seen.append(g.clone()), g * 2)[1])
    w.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    y = x @ w
    y.retain_grad()
    y.register_hook(lambda g: g + 1)
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 3,))
    y.grad_fn.register_hook(lambda _, grads: seen.append(grads[0].clone()))
    register_multi_grad_hook((w, y), lambda grads: seen.extend(g.clone() for g in grads))
    layer = nn.Linear(5, 2).to(x.device)
    layer.weight.data.fill_(0.5)
    layer.bias.data.zero_()
    layer.register_forward_pre_hook(lambda m, inputs: (inputs[0] + 1,))
    layer.register_forward_hook(lambda m, inputs, output: output * 2)
    layer.register_full_backward_pre_hook(lambda m, grads: (grads[0] * 5,))
    layer.register_full_backward_hook(lambda m, grads, _: (grads[0] * 2,))
    layer(y).sum().backward()
    return seen, w.grad, y.grad, layer.weight.grad


def test_hooks() -> None:
    same(hooks, x, w)


def saved(x: torch.Tensor, w: torch.Tensor) -> object:
    kept = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor.device.type)
        return tensor.cpu()

    with saved_tensors_hooks(pack, lambda tensor: tensor.to(x.device)):
        y = (x @ w).tanh().exp()
    with save_on_cpu(pin_memory=x.is_cuda):
        z = (y * y).sin()
    z.sum().backward()
    assert kept and set(kept) == {x.device.type}
    return w.grad


def test_saved_tensors() -> None:
    same(saved, x, w)


def checkpoints(x: torch.Tensor, w: torch.Tensor, reentrant: bool, mixed: bool) -> object:
    """With dropout: its random numbers are drawn again."""
    inputs = x.clone().requires_grad_()

    def body(x, w):
        return F.dropout((x @ w).tanh(), 0.3)

    with torch.autocast(x.device.type, torch.bfloat16, enabled=mixed):
        y = checkpoint(body, inputs, w, use_reentrant=reentrant)
    y.sum().backward()
    layers = [nn.Sequential(nn.Tanh(), nn.Dropout(0.2)) for _ in range(4)]
    net = nn.Sequential(*layers).to(x.device)
    z = checkpoint_sequential(net, 2, inputs, use_reentrant=reentrant)
    z.sum().backward()
    return y.detach(), z.detach(), w.grad, inputs.grad


def test_checkpoints() -> None:
    for reentrant in (True, False):
        for mixed in (True, False):
            same(checkpoints, x, w, reentrant, mixed)


def selective(x: torch.Tensor, w: torch.Tensor) -> object:
    def policy(context, op, *args, **kwargs):
        saved = op == torch.ops.aten.mm.default
        return CheckpointPolicy.MUST_SAVE if saved else CheckpointPolicy.PREFER_RECOMPUTE

    contexts = functools.partial(create_selective_checkpoint_contexts, policy)
    body = lambda x, w: (x @ w).tanh().sin()  # noqa: E731
    checkpoint(body, x, w, use_reentrant=False, context_fn=contexts).sum().backward()
    return w.grad


def test_selective_checkpoints() -> None:
    same(selective, x, w)


def double_backward(x: torch.Tensor) -> object:
    """The gradient penalty of a WGAN."""
    torch.manual_seed(SEED)
    net = nn.Sequential(nn.Conv1d(1, 4, 2), nn.BatchNorm1d(4), nn.SiLU(), nn.Flatten())
    net = net.append(nn.Linear(8, 1)).to(x.device)
    points = x[:, None].clone().requires_grad_()
    (slope,) = torch.autograd.grad(net(points).sum(), points, create_graph=True)
    penalty = ((slope.flatten(1).norm(2, 1) - 1) ** 2).mean()
    penalty.backward()
    return penalty.detach(), [p.grad for p in net.parameters() if p.grad is not None]


def test_double_backward() -> None:
    same(double_backward, x)


class Square(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad

    @staticmethod
    def jvp(ctx, tangent):
        return 2 * ctx.saved_tensors[0] * tangent


def functions(x: torch.Tensor, w: torch.Tensor) -> object:
    Square.apply(w).sum().backward()
    each = torch.func.vmap(torch.func.grad(lambda row: Square.apply(row).sum()))(x)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        tangent = forward_ad.unpack_dual(Square.apply(dual)).tangent
    return w.grad, each, tangent


def test_functions_of_the_program() -> None:
    same(functions, x, w)


class Mixed(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, x):
        assert x.dtype == torch.float32 and not torch.is_autocast_enabled("cuda")
        return x * 2

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        return grad * 2


def test_functions_in_mixed_precision() -> None:
    with torch.autocast("cuda"):
        half = torch.ones(2, 2, device="cuda", requires_grad=True)
        Mixed.apply(half @ half).sum().backward()
    assert half.grad.tolist() == [[8, 8], [8, 8]]


def test_numerical_gradients() -> None:
    checked = torch.randn(3, 3, dtype=torch.double, device="cuda", requires_grad=True)
    curve = lambda a: (a @ a).sin()  # noqa: E731
    assert torch.autograd.gradcheck(
        curve, (checked,), check_forward_ad=True, check_batched_grad=True
    )
    assert torch.autograd.gradgradcheck(curve, (checked,))


def test_nan_is_told() -> None:
    def of_nan() -> None:
        zeros = torch.zeros(2, device="cuda", requires_grad=True)
        with torch.autograd.detect_anomaly(check_nan=True):
            (zeros.sqrt() * 0).sum().backward()

    with pytest.raises(RuntimeError, match="returned nan values in its 0th output"):
        of_nan()


def inference(x: torch.Tensor, w: torch.Tensor) -> object:
    with torch.inference_mode():
        y = x @ w
        y.add_(1)
        y[0] = 2
        part = y.view(-1)
        part.mul_(2)
        assert all(t.is_inference() for t in (y, part, y.t(), x.clone()))
        # Views of others are what those are, and follow them.
        views = (x.view(-1), x.t(), x[1:], x.detach(), w.view(-1), x.chunk(2)[0], x.real)
        assert not any(t.is_inference() for t in views)
        w.detach().view(-1)[0] = 7
        z = F.layer_norm(y, [5])
        torch.add(z, torch.ones_like(z), out=z)
    # An in-place change of a view is seen as one.
    version = x._version
    views[0].add_(1)
    assert x._version == version + 1
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        y.add_(1)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        (w * y[0]).sum()
    return y.clone(), z.clone(), w, x


def test_inference_mode() -> None:
    same(inference, x, w)


def test_a_backward_pass_runs_on_the_thread_that_asks_for_it() -> None:
    # A thread of autograd's own would bring OpenMP threads of its own, more than there are cores.
    y = torch.ones(2, device="cuda", requires_grad=True)
    threads = []
    y.register_hook(lambda _: threads.append(threading.get_ident()))
    y.sum().backward()
    with torch.autograd.set_multithreading_enabled(True):
        y.sum().backward()
    assert threads[0] == threading.get_ident() != threads[1]
