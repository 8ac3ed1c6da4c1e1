"""CUDA graphs: a capture has no effect, a replay does the work again on the same memory."""

import copy

import pytest
import torch

pytestmark = [pytest.mark.devices("cuda:2"), pytest.mark.usefixtures("seeded")]


def capture(work, **options):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, **options):
        result = work()
    return graph, result


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
    with torch.cuda.graph(graph):
        with pytest.raises(RuntimeError, match="a CUDA generator not in capture mode"):
            torch.rand(2, device="cuda", generator=other)
        for call in (other.initial_seed, other.get_offset, lambda: torch.cuda.manual_seed(1)):
            with pytest.raises(RuntimeError, match="during CUDA graph capture"):
                call()
        torch.rand(2, device="cuda")
    assert other.get_offset() == 0 and torch.cuda.initial_seed() == 3


def test_what_nobody_holds_is_not_kept() -> None:
    # What nobody holds is not kept.
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


def waits(work):
    graph = torch.cuda.CUDAGraph()
    with (
        pytest.raises(torch.AcceleratorError, match="previous error during capture"),
        torch.cuda.graph(graph),
        pytest.raises(torch.AcceleratorError, match="not permitted when stream is capturing"),
    ):
        work()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()


def test_what_a_capture_does_not_allow() -> None:
    x = torch.randn(16, 4, device="cuda")
    waits(lambda: x.sum().item())
    waits(lambda: x.cpu())
    waits(lambda: torch.nonzero(x))
    assert not torch.cuda.is_current_stream_capturing() and x.sum().item() is not None
    torch.cuda.set_stream(torch.cuda.default_stream())  # a failed capture does not leave its stream
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="captured on a non-default stream"):
        graph.capture_begin()
    with pytest.raises(NotImplementedError, match="raw_cuda_graph"):
        graph.raw_cuda_graph()
