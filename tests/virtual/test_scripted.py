"""torch.jit: traced and scripted modules, saved and loaded onto other devices."""

import io

import pytest
import torch
import torch.nn as nn
from sides import same

pytestmark = [pytest.mark.devices("cuda:2"), pytest.mark.usefixtures("seeded")]


torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)
).eval()
image = torch.randn(2, 1, 8, 8)
want = net(image).detach()
traced = torch.jit.trace(net.cuda(), image.cuda())


def test_a_trace_computes_what_the_module_does() -> None:
    assert "aten::_convolution" in {n.kind() for n in traced.inlined_graph.nodes()}
    got = traced(image.cuda())
    assert got.device == torch.device("cuda:0") and torch.equal(got.cpu(), want)


def test_a_trace_trains_as_the_module_does() -> None:
    # A trace trains as the module does.
    for module in (net, traced):
        module.zero_grad()
        module(image.cuda()).square().sum().backward()
        grads = [p.grad.clone() for p in net.parameters()]
        if module is net:
            expected = grads
    assert all(torch.equal(a, b) for a, b in zip(expected, grads, strict=True))


def test_a_trace_is_loaded_onto_other_devices() -> None:
    file = io.BytesIO()
    torch.jit.save(traced, file)
    places = (
        (None, "cuda:0"),
        ("cpu", "cpu"),
        ("cuda:1", "cuda:1"),
        (torch.device("cuda"), "cuda:0"),
    )
    for place, device in places:
        file.seek(0)
        loaded = torch.jit.load(file, map_location=place)
        assert {str(t.device) for t in loaded.state_dict().values()} == {device}
        assert torch.equal(loaded(image.to(device)).cpu(), want)


def test_frozen_traces() -> None:
    for fast in (torch.jit.freeze(traced.eval()), torch.jit.optimize_for_inference(traced)):
        for _ in range(3):  # profiled, then optimised
            torch.testing.assert_close(fast(image.cuda()).cpu(), want)


class Loop(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x: torch.Tensor, times: int):
        for _ in range(times):
            x = self.layer(x) + self.shift if x.sum() > 0 else torch.zeros_like(x) - x
        return x, torch.arange(3, device=x.device), x.is_cuda, x.device


def test_scripts_of_modules() -> None:
    loop = Loop()
    looped = torch.jit.script(loop)
    on_cpu = looped(image[0, 0, :3, :3], 3)
    looped = looped.cuda()
    for _ in range(3):
        x, numbers, is_cuda, device = looped(image[0, 0, :3, :3].cuda(), 3)
        assert numbers.is_cuda and is_cuda and device == torch.device("cuda:0")
        assert torch.equal(x.cpu(), on_cpu[0])


@torch.jit.script
def made_on_cuda(n: int):
    with torch.no_grad():
        x = torch.ones(n, device="cuda").cumsum(0)
    return x.cpu(), x.to(torch.device("cuda:1"))


def test_scripts_of_functions() -> None:
    host, other = made_on_cuda(3)
    assert host.is_cpu and host.tolist() == [1, 2, 3] and other.device.index == 1


def fusible(x: torch.Tensor, y: torch.Tensor):
    return (x * y).sigmoid() + x.tanh() * 0.5


scripted = torch.jit.script(fusible)


def trained(x: torch.Tensor) -> object:
    seen = []
    for _ in range(4):
        out = scripted(x, x)
        (grad,) = torch.autograd.grad(out.sum(), x)
        seen += [out.detach(), grad]
    return seen


def test_training_a_script() -> None:
    same(trained, torch.randn(5, requires_grad=True), close=True)
