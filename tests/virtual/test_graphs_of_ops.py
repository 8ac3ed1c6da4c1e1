"""torch.fx, FakeTensorMode, torch.compile without code generation, torch.export."""

import io

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from sides import SEED, same
from torch._subclasses import FakeTensorMode
from torch.export.passes import move_to_device_pass
from torch.fx.experimental.optimization import fuse
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.shape_prop import ShapeProp

# The CPU's random numbers, because each test compares with the CPU.
pytestmark = [
    pytest.mark.devices("cuda:2", random="cpu"),
    pytest.mark.usefixtures("seeded"),
]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.conv, self.norm = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)
        self.head = nn.Linear(144, 5)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: torch.Tensor):
        y = F.gelu(self.norm(self.conv(x)))
        rows = x[:, 0]
        seen, _ = self.attention(rows, rows, rows, need_weights=False)
        return self.head(y.flatten(1)).softmax(-1), seen


torch.manual_seed(0)
image = torch.randn(2, 1, 8, 8)


def fx(x: torch.Tensor) -> object:
    torch.manual_seed(SEED)
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).to(x.device).eval()
    graph = torch.fx.symbolic_trace(net)
    ShapeProp(graph).propagate(x)
    *_, last = graph.graph.nodes
    assert last.meta["tensor_meta"].shape == (2, 4, 6, 6)
    return graph(x), fuse(net)(x)


def test_fx() -> None:
    same(fx, image)


def of_operators(x: torch.Tensor, mode: str) -> object:
    def call(x):
        ones = torch.ones(x.shape[0], device=x.device)
        return ones[:, None] + x.flatten(1).sin().cumsum(1)

    graph = make_fx(call, tracing_mode=mode)(x)
    return graph(x), graph(x)


def test_graphs_of_operators() -> None:
    for mode in ("real", "fake", "symbolic"):
        same(of_operators, image, mode)


def test_fake_tensors() -> None:
    with FakeTensorMode():
        held = torch.cuda.memory_allocated()
        x = torch.empty(2, 1, 8, 8, device="cuda")
        with torch.device("cuda"):
            fake = Net()
        for q in (torch.empty(2, 2, 8, 4, device="cuda:1", requires_grad=r) for r in (False, True)):
            out = F.scaled_dot_product_attention(q, q, q)
            assert out.device == torch.device("cuda:1") and out.shape == q.shape
        out = fake(x)
        assert {o.device for o in out} == {torch.device("cuda:0")}
        out[0].sum().backward()
        # Constants are real: the norm's count of batches.
        assert torch.cuda.memory_allocated() <= held + 512


def compiled(x: torch.Tensor, backend: str) -> object:
    torch._dynamo.reset()
    net = Net().to(x.device)
    torch.manual_seed(SEED)
    out, seen = torch.compile(net, backend=backend, fullgraph=True)(x)
    (out.pow(2).sum() + seen.sum()).backward()

    @torch.compile(backend=backend)
    def random(x):
        return x.sin() + torch.randn(3, device=x.device).sum() + F.dropout(x, 0.5)

    return out.detach(), seen.detach(), [p.grad for p in net.parameters()], random(x), random(x[:1])


def test_compiled_models() -> None:
    for backend in ("eager", "aot_eager", "aot_eager_decomp_partition"):
        same(compiled, image, backend, close=True)  # attention is another operator on CUDA


def steps(x: torch.Tensor) -> object:
    torch._dynamo.reset()
    net = Net().to(x.device)
    optimizer = torch.optim.AdamW(net.parameters())

    @torch.compile(backend="aot_eager")
    def loss_of(x):
        return net(x)[0].float().pow(2).sum()

    for _ in range(3):
        loss_of(x).backward()
        optimizer.step()
        optimizer.zero_grad()
    return loss_of(x).detach(), [p.detach() for p in net.parameters()]


def test_compiled_steps() -> None:
    same(steps, image, close=True)


@torch.compile(backend="eager", fullgraph=True)
def asks(x):
    if torch.cuda.is_available() and torch.cuda.get_device_capability()[0] >= 7:
        x = x + 2
    with torch.autocast("cuda"):
        y = x @ x
    return y, torch.ones(2, device="cuda:1")


@torch.compile(backend="eager")
def streams(x):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x * 2
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    with torch.cuda.device(1):
        return y, torch.ones(2, device="cuda")


def test_compiled_functions_ask_and_wait() -> None:
    ones = torch.ones(2, 2, device="cuda")
    y, there = asks(ones)
    assert (
        y.dtype == torch.float16 and y.tolist() == [[18, 18], [18, 18]] and there.device.index == 1
    )
    y, there = streams(ones)
    assert y.tolist() == [[2, 2], [2, 2]] and there.device.index == 1


def exported(x: torch.Tensor) -> object:
    net = Net().to(x.device).eval()
    program = torch.export.export(net, (x,))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded = torch.export.load(file)
    assert {t.device for t in loaded.state_dict.values()} == {x.device}
    dynamic = torch.export.export(
        net, (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=64)},)
    )
    return (
        program.module()(x),
        loaded.module()(x),
        program.run_decompositions().module()(x),
        dynamic.module()(torch.cat([x, x, x])),
    )


def test_exported_programs() -> None:
    same(exported, image, close=True)


def test_exported_programs_are_moved() -> None:
    host = Net().eval()
    moved = move_to_device_pass(torch.export.export(host, (image,)), "cuda:1")
    # Before 2.13 the graph has a view where the model says contiguous().view(): right for the strides
    # that attention gives on the CPU, and wrong on any other device.
    if torch.__version__ >= (2, 13):
        for ours, theirs in zip(moved.module()(image.to("cuda:1")), host(image), strict=True):
            assert ours.device == torch.device("cuda:1")
            torch.testing.assert_close(ours.cpu(), theirs)
