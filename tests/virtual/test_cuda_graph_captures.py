"""Captures of CUDA graphs: what they take, and what they refuse."""

import re
import threading
from pathlib import Path

import pytest
import torch
from captured import capture

pytestmark = [pytest.mark.devices("cuda:2"), pytest.mark.usefixtures("seeded")]


def refuses(
    work,
    words: str = "not permitted when stream is capturing",
    error=torch.AcceleratorError,
    **options,
) -> None:
    """The call is an error, what follows as well, and nothing is captured."""
    x = torch.ones(2, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with (
        pytest.raises(torch.AcceleratorError, match="previous error during capture"),
        torch.cuda.graph(graph, **options),
    ):
        with pytest.raises(error, match=words):
            work()
        with pytest.raises(torch.AcceleratorError, match="previous error during capture"):
            x.add(1)
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    assert x.add(1).tolist() == [2.0, 2.0]


x = torch.arange(4.0, device="cuda")
square, mask, places = torch.eye(2, device="cuda"), x > 1, torch.tensor([0, 2], device="cuda")
host, pinned = torch.ones(4), torch.ones(4).pin_memory()
# What waits for the stream that is captured: see WAITS in test_determinism_and_sync.py.
WAITS = {
    "item": lambda: x.sum().item(),
    "bool": lambda: bool(mask.any()),
    "nonzero": lambda: torch.nonzero(x),
    "mask": lambda: x[mask],
    "assignment by a mask": lambda: x.clone().__setitem__(mask, x[:2]),
    "masked_select": lambda: x.masked_select(mask),
    "unique": lambda: x.unique(),
    "unique_consecutive": lambda: x.unique_consecutive(),
    "equal": lambda: torch.equal(x, x + 1),
    "where": lambda: torch.where(mask),
    "repeat_interleave": lambda: places.repeat_interleave(places),
    "one_hot": lambda: torch.nn.functional.one_hot(places),
    "inv": lambda: torch.linalg.inv(square),
    "eigh": lambda: torch.linalg.eigh(square),
    "eig": lambda: torch.linalg.eig(square),
    "to_sparse": lambda: x.to_sparse(),
    "LU of matrices that are not square": lambda: torch.linalg.lu_factor_ex(square[:1]),
    "LDL": lambda: torch.linalg.ldl_factor_ex(square),
    "a blocking copy from pinned memory": lambda: pinned.cuda(),
    "a blocking copy to pinned memory": lambda: pinned.copy_(x),
    "synchronize": torch.cuda.synchronize,
    "stream.synchronize": lambda: torch.cuda.current_stream().synchronize(),
    "stream.query": lambda: torch.cuda.current_stream().query(),
}
COPIES = (
    x.cpu,
    host.cuda,
    lambda: host.to("cuda", non_blocking=True),
    lambda: torch.tensor([1.0], device="cuda"),
    lambda: x[torch.tensor([0])],
    lambda: x.clone().copy_(host, non_blocking=True),
    lambda: torch.bincount(places),
    lambda: torch.histc(x, 3),
    lambda: torch.linalg.svd(square),
    lambda: torch.matrix_exp(square),
)
ALLOWED = (
    lambda: x[places],
    lambda: x.clone().index_put_((places,), x[:2]),
    lambda: x.masked_fill(mask, 0.0),
    lambda: places.repeat_interleave(places, output_size=2),
    lambda: pinned.to("cuda", non_blocking=True),
    lambda: torch.linalg.inv_ex(square),
    lambda: torch.linalg.lu_factor_ex(square),
    lambda: torch.linalg.svd(square[:0]),
    lambda: torch.cuda.memory_allocated(),
)


@pytest.mark.parametrize("name", WAITS)
def test_a_capture_refuses_what_waits_for_it(name: str) -> None:
    refuses(WAITS[name])


def test_a_capture_takes_what_does_not_wait() -> None:
    graph, _ = capture(lambda: [work() for work in ALLOWED])
    graph.replay()


def test_copies_need_pinned_memory() -> None:
    graph = torch.cuda.CUDAGraph()
    since = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 11)
    if not since:
        return refuses(x.cpu)
    with torch.cuda.graph(graph):
        for work in COPIES:
            with pytest.raises(RuntimeError, match="capture unless the CPU tensor is pinned"):
                work()
        y = x + 1  # the capture is still valid
    graph.replay()
    assert y.tolist() == [1.0, 2.0, 3.0, 4.0]
    return None


def test_events_of_a_capture() -> None:
    inside, outside = torch.cuda.Event(), torch.cuda.Event()
    outside.record()

    def ask_inside() -> None:
        inside.record()
        inside.query()

    refuses(ask_inside, "event last recorded in a capturing stream")
    refuses(ask_inside, "event last recorded in a capturing stream", capture_error_mode="relaxed")
    refuses(outside.query)
    refuses(outside.synchronize, capture_error_mode="thread_local")
    capture(outside.query, capture_error_mode="relaxed")
    assert inside.query()


def test_other_threads_and_the_mode() -> None:
    event = torch.cuda.Event()
    event.record()

    def ask_in_thread() -> None:
        failures: list[BaseException] = []

        def ask() -> None:
            try:
                event.query()
            except torch.AcceleratorError as error:
                failures.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        if failures:
            raise failures.pop()  # or it would hold itself, and the graph, by this frame

    refuses(ask_in_thread)
    capture(ask_in_thread, capture_error_mode="thread_local")
    with pytest.raises(RuntimeError, match="Unknown capture error mode"):
        capture(ask_in_thread, capture_error_mode="none")


def test_streams_join_a_capture() -> None:
    side = torch.cuda.Stream()
    y = torch.zeros(4, device="cuda")

    def on_two_streams() -> torch.Tensor:
        with torch.cuda.stream(side):
            assert not torch.cuda.is_current_stream_capturing()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            assert torch.cuda.is_current_stream_capturing()
            if hasattr(torch.Stream, "is_capturing"):
                assert torch.accelerator.current_stream().is_capturing()
            z = x * 2
        torch.cuda.current_stream().wait_stream(side)
        return z.add_(1)

    graph, z = capture(on_two_streams)
    graph.replay()
    assert z.tolist() == [1.0, 3.0, 5.0, 7.0]
    with torch.cuda.stream(side):
        assert not torch.cuda.is_current_stream_capturing()
        refused = torch.cuda.CUDAGraph()
    # What a stream does that has not joined is not captured, but done.
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        with torch.cuda.stream(side):
            y.add_(1)
        x + 1
    graph.replay()
    assert y.tolist() == [1.0] * 4
    del refused


def test_a_capture_does_not_wait_for_other_streams() -> None:
    default = torch.cuda.default_stream()
    words = "dependency created on uncaptured work in another stream"
    refuses(lambda: torch.cuda.current_stream().wait_stream(default), words)
    refuses(lambda: x.to("cuda:1"), words)


def test_what_a_capture_does_not_allow() -> None:
    assert not torch.cuda.is_current_stream_capturing()
    torch.cuda.set_stream(torch.cuda.default_stream())  # a failed capture does not leave its stream
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="captured on a non-default stream"):
        graph.capture_begin()
    with pytest.raises(torch.AcceleratorError, match="cannot be performed in the present state"):
        graph.capture_end()
    with pytest.warns(UserWarning, match="The CUDA Graph is empty"):
        capture(lambda: None)
    with pytest.raises(RuntimeError, match="Capture must end on the same stream it began on"):
        with torch.cuda.stream(torch.cuda.Stream()):
            graph.capture_begin()
        graph.capture_end()
    with torch.cuda.stream(graph_stream(graph)):
        x + 1
        graph.capture_end()


def graph_stream(graph: torch.cuda.CUDAGraph) -> torch.cuda.Stream:
    device, stream = graph._stream  # of torchport's own class
    return torch.cuda.Stream(stream_id=stream, device_index=device, device_type=1)


def test_graphs_that_are_used_wrongly() -> None:
    graph, kept = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph(keep_graph=True)
    with pytest.raises(RuntimeError, match=r"capture_end\(\) must have been called before calling"):
        kept.instantiate()
    with pytest.raises(RuntimeError, match="unless CUDAGraph was initialized with keep_graph=true"):
        graph.raw_cuda_graph()
    with pytest.raises(RuntimeError, match=r"until capture_end\(\) has been called"):
        kept.raw_cuda_graph()
    with pytest.raises(RuntimeError, match=r"until instantiate\(\) has been called"):
        kept.raw_cuda_graph_exec()
    with (
        pytest.raises(RuntimeError, match=r"!\(pool.first && pool.second\) INTERNAL ASSERT"),
        torch.cuda.graph(torch.cuda.CUDAGraph(), pool=(5, 5)),
    ):
        pass
    with torch.cuda.graph(kept):
        x + 1
    with pytest.raises(NotImplementedError, match="the graph is a list of operators"):
        kept.raw_cuda_graph()
    kept.instantiate()
    graph, _ = capture(lambda: x + 1)
    with pytest.raises(RuntimeError, match="only when keep_graph=true"):
        graph.instantiate()


def test_what_a_capture_refuses_of_generators_and_libraries() -> None:
    with pytest.raises(RuntimeError, match="Cannot construct a new CUDAGeneratorImpl"):
        capture(lambda: torch.rand(4, device="cuda", generator=torch.Generator("cuda")))
    default = torch.cuda.default_stream()
    words = "would make the legacy stream depend on a capturing blocking stream"
    refuses(lambda: default.wait_stream(torch.cuda.current_stream()), words)
    for dtype, kind in ((torch.float32, "CUDA_R_32F"), (torch.complex128, "CUDA_C_64F")):
        a = torch.eye(4, dtype=dtype, device="cuda")
        words = f"CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDnXsyevd.*{kind}"
        refuses(lambda a=a: torch.linalg.eigh(a), words, RuntimeError)


def test_a_dump_of_what_a_graph_holds(tmp_path: Path) -> None:
    path = tmp_path / "graph.dot"
    graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with pytest.warns(UserWarning, match="CUDA Graphs debug not enabled, set with"):
        graph.debug_dump(str(path))
    assert not path.exists()
    graph.enable_debug_mode()
    with torch.cuda.graph(graph):
        y = x * 2
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            z = y + 1
        y.relu_()
        torch.cuda.current_stream().wait_stream(side)
        z.copy_(y)
    with pytest.warns(UserWarning) as told:
        graph.debug_dump(str(path))
    assert [str(one.message) for one in told] == [
        "DEBUG: calling debug_dump()",
        f"DEBUG: calling cudaGraphDebugDotPrint() with {path}",
    ]
    text = path.read_text()
    assert text.startswith("digraph dot {\nsubgraph cluster_1 {\n")
    nodes = re.findall(r'"graph_1_node_(\d)"\[.*?\{(\w+)\\n.*?(aten::\w+)\(float32\[4\]', text)
    assert nodes == [
        ("0", "KERNEL", "aten::mul"),
        ("1", "KERNEL", "aten::add"),
        ("2", "KERNEL", "aten::relu_"),
        ("3", "MEMCPY", "aten::copy_"),
    ]
    arrows = re.findall(r'"graph_1_node_(\d)" -> "graph_1_node_(\d)"', text)
    assert arrows == [("0", "1"), ("0", "2"), ("1", "3"), ("2", "3")]
    graph.replay()  # the graph that runs is still there
    assert z.tolist() == [0.0, 2.0, 4.0, 6.0]
    path.unlink()
    with pytest.warns(UserWarning) as told:
        graph.debug_dump(str(path))  # what was captured was dropped by the first dump
    assert len(told) == 1 and not path.exists()
