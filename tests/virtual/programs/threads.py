"""Two devices in one process: DataParallel's threads, and one autograd graph over both."""

from __future__ import annotations

import torch
import torch.nn as nn


def data_parallel() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4)).cuda()
    both = nn.DataParallel(net, device_ids=[0, 1])
    seen = set()
    net.register_forward_pre_hook(lambda module, given: seen.add(given[0].device.index))
    for _ in range(50):
        x = torch.randn(10, 8, device="cuda")
        net.zero_grad()
        net(x).square().sum().backward()
        want = [p.grad.clone() for p in net.parameters()]
        net.zero_grad()
        out = both(x)
        assert out.device == torch.device("cuda", 0) and out.shape == (10, 4)
        out.square().sum().backward()
        for p, grad in zip(net.parameters(), want, strict=True):
            assert p.grad.device.index == 0
            torch.testing.assert_close(p.grad, grad)
    assert seen == {0, 1}


def one_graph() -> None:
    """Layers that take turns on two devices: the gradients of the same layers on one."""
    torch.manual_seed(1)
    layers = [nn.Linear(8, 8) for _ in range(6)]
    x = torch.randn(4, 8)
    h = x.cuda(0)
    for layer in layers:
        h = torch.tanh(layer.cuda(0)(h))
    h.sum().backward()
    want = [layer.weight.grad.cpu() for layer in layers]
    for _ in range(20):
        h = x.cuda(0)
        for i, layer in enumerate(layers):
            layer.zero_grad()
            layer.cuda(i % 2)
            h = torch.tanh(layer(h.cuda(i % 2, non_blocking=True)))
        h.sum().backward()
        for i, layer in enumerate(layers):
            assert layer.weight.grad.device.index == i % 2
            assert torch.equal(layer.weight.grad.cpu(), want[i])


if __name__ == "__main__":
    data_parallel()
    one_graph()
    print("done")
