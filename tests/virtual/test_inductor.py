"""torch.compile with inductor: its C++ for the CPU over the bytes of the device."""

from collections.abc import Iterator

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from sides import same

pytestmark = [pytest.mark.devices("cuda:2", timeout=400), pytest.mark.usefixtures("seeded")]


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path_factory.mktemp("inductor")))
        yield


torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        # Without a bias: before a norm its gradient is nothing but rounding, and Adam scales it up.
        self.conv, self.norm = nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4)
        self.head = nn.Linear(144, 5)

    def forward(self, x: torch.Tensor):
        return self.head(F.gelu(self.norm(self.conv(x))).flatten(1)).softmax(-1)


def trained(x: torch.Tensor) -> object:
    torch._dynamo.reset()
    net = Net().to(x.device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    compiled = torch.compile(net, fullgraph=True)
    step = torch.compile(optimizer.step)
    target = torch.arange(len(x), device=x.device)
    for _ in range(3):
        loss = F.cross_entropy(compiled(x), target)
        optimizer.zero_grad()
        loss.backward()
        step()
    return loss.detach(), [p.detach() for p in net.parameters()]


def test_training() -> None:
    same(trained, torch.randn(4, 1, 8, 8), close=True)


def operators(x: torch.Tensor) -> object:
    torch._dynamo.reset()

    @torch.compile
    def call(x):
        best = x.argmax(1)
        # Long enough for a loop over the rows, and to be told from the order in memory.
        wide = x.t().sin() @ x.repeat(1, 12)
        filled = torch.zeros(4, 5, device=x.device).scatter_add_(1, best[:, None], x[:, :1])
        return (
            (x.bfloat16().exp().mean(0), best, filled, x.sort(1).values, (x * 10).int() // 3),
            (torch.var_mean(x, 1), torch.where(x > 0, x, 0).any(1), x.logsumexp(1)),
            (x[best % 4], x.cumsum(0), torch.arange(7, device=x.device) ** 2, x.median(1).values),
            (wide.log_softmax(1), wide.t().argmax(), wide.t().argmin()),
        )

    return call(x)


def test_operators() -> None:
    same(operators, torch.randn(4, 5), close=True)


# Random numbers are the device's.


@torch.compile
def random(like):
    return torch.rand(1000, device=like.device), F.dropout(torch.ones_like(like), 0.25)


def test_random_numbers_are_the_devices() -> None:
    torch._dynamo.reset()
    like = torch.ones(1000, device="cuda")
    before = torch.get_rng_state()
    torch.cuda.manual_seed(3)
    first = random(like)
    torch.cuda.manual_seed(3)
    assert all(torch.equal(a, b) for a, b in zip(first, random(like), strict=True))
    assert not torch.equal(first[0], random(like)[0])
    assert torch.equal(before, torch.get_rng_state())
    assert abs(first[0].mean() - 0.5) < 0.05 and abs((first[1] == 0).float().mean() - 0.25) < 0.06


# Other devices, attention, shapes that change, writing in place.
@torch.compile
def devices(x, y):
    return x * 2, y.to("cuda:1") + 1, (x.sum() * y.sum().cpu()).to("cuda")


def test_other_devices_and_writing_in_place() -> None:
    ones = torch.ones(3, device="cuda")
    a, b, c = devices(ones, ones)
    assert (a.tolist(), b.tolist(), c.item()) == ([2] * 3, [2] * 3, 9)
    assert [t.device.index for t in (a, b, c)] == [0, 1, 0]
    second = torch.compile(lambda x: (x @ x.t()).relu())(torch.eye(3, device="cuda:1"))
    assert second.device.index == 1 and torch.equal(second.cpu(), torch.eye(3))
    torch.compile(lambda t: t.mul_(3).add_(1))(ones)
    assert ones.tolist() == [4] * 3


def test_attention() -> None:
    attend = lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True).sum()  # noqa: E731
    q = torch.randn(2, 4, 30, 8, device="cuda", requires_grad=True)
    (want,) = torch.autograd.grad(attend(q), q)
    (got,) = torch.autograd.grad(torch.compile(attend)(q), q)
    torch.testing.assert_close(got, want)


def test_shapes_that_change() -> None:
    smooth = torch.compile(lambda x: x.sin().softmax(-1), dynamic=True)
    for size in (3, 5):
        x = torch.randn(size, 4, device="cuda")
        torch.testing.assert_close(smooth(x), x.sin().softmax(-1))


def test_cuda_graphs_of_compiled_kernels() -> None:
    net = Net().cuda().eval()
    with torch.no_grad():
        fast = torch.compile(net, mode="reduce-overhead")
        for _ in range(4):
            x = torch.randn(4, 1, 8, 8, device="cuda")
            torch.testing.assert_close(fast(x), net(x))
    manager = torch._inductor.cudagraph_trees.get_container(0).tree_manager
    assert manager.path_state == torch._inductor.cudagraph_trees.ExecutionState.EXECUTION


def test_memory_is_counted() -> None:
    big = torch.ones(1 << 20, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    out = torch.compile(lambda t: (t + 1).sort().values * 2)(big)
    # pytest keeps every value of an assertion until it has been decided.
    assert torch.cuda.memory_allocated() - held == 4 << 20
    assert out.mean() == 4
    assert (
        torch.cuda.max_memory_allocated() - held >= 16 << 20
    )  # the sum, what is sorted, where from
