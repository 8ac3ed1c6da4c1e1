"""CUDA graphs: a capture has no effect, a replay does the work again on the same memory."""

import copy
import gc
from collections.abc import Iterator

import pytest
import torch
from captured import capture

pytestmark = [pytest.mark.devices("cuda:2"), pytest.mark.usefixtures("seeded")]


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """No graph outlives its test: what make_graphed_callables() returns is a reference cycle."""
    yield
    gc.collect()


def network() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 1)
    )


def step(model, optimizer, x, y):
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def test_a_capture_has_no_effect() -> None:
    x = torch.arange(4.0, device="cuda")
    graph, result = capture(lambda: (x * 2).relu() + 1)
    x.fill_(5)
    graph.replay()
    assert result.tolist() == [11.0] * 4


def test_what_a_capture_overwrote_is_put_back() -> None:
    # What the capture overwrote is put back; views and in-place operators are followed.
    counter = torch.zeros(3, device="cuda")
    graph, _ = capture(lambda: counter[1:].add_(1))
    assert counter.tolist() == [0.0, 0.0, 0.0]
    graph.replay()
    graph.replay()
    assert counter.tolist() == [0.0, 2.0, 2.0]


def test_a_training_step() -> None:
    # A whole training step, against the same steps done eagerly.
    model = network().cuda()
    eager = copy.deepcopy(model)
    x, y = torch.randn(16, 4, device="cuda"), torch.randn(16, 1, device="cuda")
    optimizers = [torch.optim.Adam(m.parameters(), lr=0.1, capturable=True) for m in (model, eager)]
    for m, optimizer in zip((model, eager), optimizers, strict=True):
        step(m, optimizer, x, y)  # Adam makes its state in the first
    graph, loss = capture(lambda: step(model, optimizers[0], x, y))
    for _ in range(5):
        x.copy_(torch.randn(16, 4))
        graph.replay()
        expected = step(eager, optimizers[1], x, y)
        assert torch.equal(loss, expected)
    for ours, theirs in zip(model.parameters(), eager.parameters(), strict=True):
        assert torch.equal(ours, theirs) and torch.equal(ours.grad, theirs.grad)
    for ours, theirs in zip(model.buffers(), eager.buffers(), strict=True):
        assert torch.equal(ours, theirs)


FIRST = """
import gc, weakref, torch
gc.disable()  # the graph must not wait for the collector
def capture():
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = torch.ones(3, device="cuda") + 1
    return graph, result
def live():
    graph, result = capture()
    return weakref.ref(graph)
print(live()())
"""


def test_the_first_graph_lives_as_long_as_its_names(run_virtual) -> None:
    assert run_virtual(FIRST).stdout == "None\n"


def test_callables() -> None:
    eager = network().cuda()
    # Callables.
    graphed = torch.cuda.make_graphed_callables(
        copy.deepcopy(eager), (torch.randn(16, 4, device="cuda", requires_grad=True),)
    )
    reference = copy.deepcopy(eager)
    inputs = [torch.ones(16, 4, device="cuda").normal_().requires_grad_() for _ in range(2)]
    inputs[1].data.copy_(inputs[0].data)
    outputs = [m(i) for m, i in zip((graphed, reference), inputs, strict=True)]
    for output in outputs:
        output.square().sum().backward()
    assert torch.equal(*outputs) and torch.allclose(inputs[0].grad, inputs[1].grad)


def test_random_numbers_go_on_from_replay_to_replay() -> None:
    # Random numbers go on from replay to replay.
    torch.cuda.manual_seed(3)
    state = torch.cuda.get_rng_state()
    graph, drawn = capture(lambda: torch.rand(3, device="cuda"))
    assert torch.equal(state, torch.cuda.get_rng_state())
    graph.replay()
    first = drawn.clone()
    graph.replay()
    assert not torch.equal(first, drawn)
    torch.cuda.manual_seed(3)
    assert torch.equal(first, torch.rand(3, device="cuda"))


def test_each_replay_moves_the_offset_as_a_whole() -> None:
    torch.cuda.manual_seed(3)
    own = torch.Generator("cuda").manual_seed(7)
    default = torch.cuda.default_generators[0]
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(own)

    def work():
        x = torch.rand(3, device="cuda")
        y = torch.nn.functional.dropout(torch.ones(2000, device="cuda"))
        return x, y, torch.randperm(5, device="cuda", generator=own)

    with torch.cuda.graph(graph):
        drawn = work()
    assert default.get_offset() == 0 == own.get_offset()
    graph.replay()
    graph.replay()
    assert default.get_offset() == 2 * (4 + 4) and own.get_offset() == 2 * (4 + 8)
    torch.cuda.manual_seed(3)
    own.manual_seed(7)
    work()
    assert all(torch.equal(a, b) for a, b in zip(drawn, work(), strict=True))


def test_generators_of_a_capture() -> None:
    torch.cuda.manual_seed(3)
    other = torch.Generator("cuda")
    graph = torch.cuda.CUDAGraph()
    refused = [other.get_offset, other.seed]
    with torch.cuda.graph(graph):
        with pytest.raises(RuntimeError, match="a CUDA generator not in capture mode"):
            torch.rand(2, device="cuda", generator=other)
        if tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 11):
            torch.cuda.manual_seed(3)
            state = torch.cuda.get_rng_state()
            torch.cuda.set_rng_state(state)
            with pytest.raises(RuntimeError, match="only if new seed is the same as the original"):
                torch.cuda.manual_seed(1)
            assert other.initial_seed() > 0 and len(state) == 16
        else:
            refused += [other.initial_seed, lambda: torch.cuda.manual_seed(1)]
        for call in refused:
            with pytest.raises(RuntimeError, match="during CUDA graph capture"):
                call()
        torch.rand(2, device="cuda")
    assert other.get_offset() == 0 and torch.cuda.initial_seed() == 3


def test_a_state_has_its_blocks_once() -> None:
    # After PyTorch's own test_memory_stats_of_multiple_generators_and_graphs.
    before = torch.cuda.memory_stats()["active.all.current"]
    default = torch.cuda.default_generators[0]
    states = [default.graphsafe_get_state(), default.clone_state()]
    graphs = [torch.cuda.CUDAGraph() for _ in range(3)]
    for graph in graphs:
        for state in states:
            graph.register_generator_state(state)
        with torch.cuda.graph(graph):
            torch.rand(1, device="cuda")
    assert torch.cuda.memory_stats()["active.all.current"] - before == 2 * len(states)
    graphs.clear()
    del graph
    assert torch.cuda.memory_stats()["active.all.current"] == before


def test_what_nobody_holds_is_not_kept() -> None:
    # What nobody holds is not kept.
    _held, _kept = capture(
        lambda: torch.ones(1, device="cuda")
    )  # so that the generator has its blocks
    before = torch.cuda.memory_allocated()
    graph, total = capture(lambda: (torch.ones(1000, 1000, device="cuda") * 2 + 3).sum())
    graph.replay()
    assert total.item() == 5e6 and torch.cuda.memory_allocated() - before == 512


def test_autocast_is_part_of_the_capture() -> None:
    eager, x = network().cuda(), torch.randn(16, 4, device="cuda")
    # Autocast is part of what was captured, not of the replay.
    with torch.autocast("cuda", dtype=torch.float16):
        graph, half = capture(lambda: eager[0](x))
    with torch.autocast("cuda", dtype=torch.bfloat16):
        graph.replay()
    assert half.dtype == torch.float16 and torch.allclose(half.float(), eager[0](x), atol=1e-2)


def test_pinned_memory_is_read_again() -> None:
    # From pinned memory, which is read again.
    pinned = torch.zeros(4, pin_memory=True)
    static = torch.ones(4, device="cuda")
    graph, _ = capture(lambda: static.copy_(pinned, non_blocking=True))
    pinned.fill_(7)
    graph.replay()
    assert static.tolist() == [7.0] * 4


MIB = 1 << 20


def grown(before: dict[str, int], pool: str) -> list[int]:
    now = torch.cuda.memory_stats()
    names = ("segment", "reserved_bytes", "active", "active_bytes")
    return [now[f"{n}.{pool}.current"] - before[f"{n}.{pool}.current"] for n in names]


@pytest.mark.parametrize(
    ("bytes_of_one", "segments", "reserved"),
    # As PyTorch's own test of the memory of graphs has them.
    [
        (512, 1, 2),
        (MIB, 2, 4),
        (MIB + 512, 1, 20),
        (10 * MIB - 512, 2, 40),
        (10 * MIB + 512, 3, 36),
    ],
)
def test_memory_of_a_graph(bytes_of_one: int, segments: int, reserved: int) -> None:
    torch.cuda.empty_cache()
    stream = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    pool = "small_pool" if bytes_of_one <= MIB else "large_pool"
    _held, _kept = capture(
        lambda: torch.ones(1, device="cuda")
    )  # so that the generator has its blocks
    with torch.cuda.stream(stream):
        a = torch.ones(bytes_of_one // 4, device="cuda")
        before = torch.cuda.memory_stats()
        graph.capture_begin()
        b = a.clone()
        for _ in range(5):
            b = b.clone() + 1
        graph.capture_end()
    for _ in range(2):
        assert grown(before, pool) == [segments, reserved * MIB, 1, bytes_of_one]
        peak = torch.cuda.max_memory_allocated()
        graph.replay()
        assert torch.cuda.max_memory_allocated() == peak  # a replay has the memory of its capture
        assert b.sum().item() == 6 * a.numel()
        torch.cuda.empty_cache()
    del graph
    torch.cuda.empty_cache()
    assert grown(before, pool) == [1, reserved // segments * MIB, 1, bytes_of_one]
    assert b.sum().item() == 6 * a.numel()


def test_graphs_share_a_pool() -> None:
    x = torch.arange(4.0, device="cuda")
    torch.cuda.empty_cache()
    _held, _kept = capture(lambda: x * 1)  # so that the generator has its blocks
    before = torch.cuda.memory_reserved()
    one, first = capture(lambda: x * 2)
    other, second = capture(lambda: x * 3, pool=one.pool())
    assert one.pool() == other.pool() and one.pool()[1] == 0
    assert torch.cuda.memory_reserved() - before == 2 * MIB
    segments = [s for s in torch.cuda.memory_snapshot() if s["segment_pool_id"] == one.pool()]
    assert len(segments) == 1
    handle = torch.cuda.graph_pool_handle()
    third, _ = capture(lambda: x * 4, pool=handle)
    assert third.pool() == handle and handle[0] == 0
    assert torch.cuda.memory_reserved() - before == 4 * MIB
    del one, first, second, _
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() - before == 4 * MIB  # the other graph uses it
    other.reset()
    third.reset()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == before


def test_states_of_a_generator() -> None:
    # After PyTorch's own test_graphsafe_set_get_rng_state.
    generator = torch.cuda.default_generators[0]
    generator.manual_seed(0)
    old, new = generator.graphsafe_get_state(), generator.clone_state()
    eager = torch.Generator("cuda").manual_seed(0)
    eager_old, eager_new = eager.graphsafe_get_state(), eager.clone_state()

    def draw(of: torch.Generator, first: torch.Generator, second: torch.Generator) -> list:
        of.graphsafe_set_state(first)
        numbers = [torch.rand(5, device="cuda", generator=of)]
        of.graphsafe_set_state(second)
        return numbers + [torch.rand(5, device="cuda", generator=of) for _ in range(2)]

    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(old)
    graph.register_generator_state(new)
    with torch.cuda.graph(graph):
        drawn = draw(generator, new, old)
    for _ in range(3):
        expected = draw(eager, eager_new, eager_old)
        graph.replay()
        assert (old.get_offset(), new.get_offset()) == (
            eager_old.get_offset(),
            eager_new.get_offset(),
        )
        assert all(torch.equal(a, b) for a, b in zip(drawn, expected, strict=True))


def test_kernels_save_the_same_for_gradients() -> None:
    # Recurrent layers keep a reserve only where gradients are enabled.
    model = torch.nn.LSTM(4, 4, 2, dropout=0.5).cuda()
    numbers = torch.ones(3, 2, 4, device="cuda")
    model(numbers)  # makes the state of dropout, for which the host waits
    graph, (out, _) = capture(lambda: model(numbers))
    graph.replay()
    first = out.clone()
    graph.replay()
    assert out.requires_grad and not torch.equal(first, out)  # another mask
