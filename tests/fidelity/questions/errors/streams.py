"""Streams, events, generators and captures that are used wrongly. Each in a process of its own."""

import torch
from recorder.registry import expressions, question


def names():
    return {
        "torch": torch, "c": torch.ones(4, device="cuda"), "h": torch.ones(4),
        "e": torch.cuda.Event(), "t": torch.cuda.Event(enable_timing=True),
        "s": torch.cuda.Stream(), "g": torch.cuda.CUDAGraph(),
        "gen": torch.Generator("cuda"), "cap": captured,
    }  # fmt: skip


def captured(function):
    """Captures a call, after one outside of the capture; what it raised or returned."""
    c = torch.ones(4, device="cuda")
    function(c)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    told = []
    try:
        with torch.cuda.graph(graph):
            try:
                function(c)
                told.append("went on")
            except Exception as error:
                told.append([type(error).__name__, str(error)])
                raise
        graph.replay()
        torch.cuda.synchronize()
    except Exception as error:
        told.append([type(error).__name__, str(error)])
    try:
        told.append((c + 1).tolist())
    except Exception as error:
        told.append([type(error).__name__, str(error)])
    return told


expressions(
    """
    e.elapsed_time(e)
    t.elapsed_time(t)
    t.record(); t.elapsed_time(e)
    t.record(); t.elapsed_time(torch.cuda.Event(enable_timing=True))
    t.record(); u = torch.cuda.Event(enable_timing=True); torch.cuda._sleep(100000000); u.record(); t.elapsed_time(u)
    e.query()
    e.synchronize()
    e.wait()
    e.wait(s)
    e.ipc_handle()
    t.record(); t.ipc_handle()
    torch.cuda.Event(interprocess=True, enable_timing=True).record()
    torch.cuda.Event.from_ipc_handle(0, b'x')
    torch.cuda.Event.from_ipc_handle(0, b'x' * 64)
    e.record(5)
    e.record(torch.cuda.default_stream())
    s.wait_event(None)
    s.wait_stream(None)
    s.record_event(5)
    torch.cuda.stream(5).__enter__()
    torch.cuda.set_stream(None)
    torch.cuda.set_stream(5)
    torch.cuda.Stream(priority=-99).priority
    torch.cuda.Stream(priority=99).priority
    torch.cuda.Stream(priority='high')
    torch.cuda.ExternalStream(0) == torch.cuda.default_stream()
    torch.cuda.ExternalStream(-1)
    c.record_stream(None)
    c.record_stream(5)
    h.record_stream(s)
    torch.Event('cuda').elapsed_time(torch.Event('cuda'))
    torch.Event('cpu')
    torch.Event('cuda', enable_timing=True).record(torch.cuda.current_stream())
    gen.set_state(torch.zeros(3, dtype=torch.uint8))
    gen.set_state(torch.zeros(16))
    gen.set_state(torch.zeros(16, dtype=torch.uint8, device='cuda'))
    gen.set_state(torch.Generator().get_state())
    gen.set_offset(3)
    gen.set_offset(-4)
    gen.get_offset()
    gen.manual_seed(1 << 70)
    gen.manual_seed(-1).initial_seed()
    gen.manual_seed('a')
    gen.graphsafe_get_state()
    gen.graphsafe_set_state(torch.Generator())
    torch.cuda.set_rng_state(torch.zeros(5056, dtype=torch.uint8))
    torch.cuda.set_rng_state(None)
    torch.cuda.set_rng_state_all([])
    torch.cuda.manual_seed('a')
    torch.cuda.manual_seed(1 << 64)
    torch.Generator('cuda').get_state().device
    g.replay()
    g.reset()
    g.pool()
    g.capture_end()
    g.capture_begin(); g.capture_end(); g.replay()
    g.capture_begin()
    g.debug_dump('/nowhere/x')
    g.raw_cuda_graph()
    torch.cuda.CUDAGraph(keep_graph=True).replay()
    torch.cuda.CUDAGraph(keep_graph=True).instantiate()
    torch.cuda.graph(None).__enter__()
    torch.cuda.graph(g, capture_error_mode='nonsense').__enter__()
    torch.cuda.graph(g, pool=(5, 5)).__enter__()
    torch.cuda.is_current_stream_capturing()
    torch.cuda.make_graphed_callables(lambda x: x.cpu(), (c,))
    torch.cuda.make_graphed_callables(torch.nn.Linear(4, 4, device='cuda'), (c.double(),))
    torch.cuda.make_graphed_callables(lambda x: x * 2, (h,))
    torch.cuda.make_graphed_callables(lambda x: x * 2, ('a',))
    cap(lambda c: c.mul_(2))
    cap(lambda c: c.item() if c.numel() == 1 else c.sum().item())
    cap(lambda c: c.cpu())
    cap(lambda c: c.tolist())
    cap(lambda c: bool(c.sum() > 0))
    cap(lambda c: c.nonzero())
    cap(lambda c: c[c > 0])
    cap(lambda c: c.unique())
    cap(lambda c: torch.repeat_interleave(c, c.long()))
    cap(lambda c: torch.cuda.synchronize())
    cap(lambda c: torch.cuda.current_stream().synchronize())
    cap(lambda c: torch.cuda.current_stream().query())
    cap(lambda c: torch.cuda.empty_cache())
    cap(lambda c: torch.cuda.Event().record())
    cap(lambda c: torch.cuda.Event().query())
    cap(lambda c: torch.tensor([1.0], device='cuda'))
    cap(lambda c: torch.ones(2).cuda())
    cap(lambda c: c.copy_(torch.ones(4)))
    cap(lambda c: c.copy_(torch.ones(4).pin_memory(), non_blocking=True))
    cap(lambda c: torch.rand(4, device='cuda'))
    cap(lambda c: torch.rand(4, device='cuda', generator=torch.Generator('cuda')))
    cap(lambda c: torch.randperm(4, device='cuda'))
    cap(lambda c: torch.multinomial(c, 2))
    cap(lambda c: torch.cuda.manual_seed(3))
    cap(lambda c: torch.cuda.get_rng_state())
    cap(lambda c: torch.cuda.set_rng_state(torch.zeros(16, dtype=torch.uint8)))
    cap(lambda c: torch.linalg.inv(c.diag()))
    cap(lambda c: torch.linalg.eigh(c.diag()))
    cap(lambda c: torch.fft.fft(c))
    cap(lambda c: c.diag() @ c)
    cap(lambda c: torch.cuda.mem_get_info())
    cap(lambda c: torch.empty(1 << 50, dtype=torch.uint8, device='cuda'))
    cap(lambda c: torch.cuda.current_stream().wait_stream(torch.cuda.Stream()))
    cap(lambda c: torch.cuda.Stream().wait_stream(torch.cuda.current_stream()))
    cap(lambda c: torch.cuda.default_stream().wait_stream(torch.cuda.current_stream()))
    cap(lambda c: torch.optim.Adam([c.requires_grad_()]).step())
    cap(lambda c: torch.index_put(c, (c.long(),), c, accumulate=True))
    cap(lambda c: 1 / 0)
    cap(lambda c: torch.cuda.set_sync_debug_mode('error'))
    """,
    names,
    alone=True,
    warnings=True,
)


@question(alone=True)
def two_captures():
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(torch.cuda.Stream()):
        first.capture_begin()
        second.capture_begin()


@question(alone=True)
def capture_in_the_default_stream():
    torch.cuda.CUDAGraph().capture_begin()


@question(alone=True)
def capture_ends_in_another_stream():
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()
    graph.capture_end()


@question(alone=True)
def graph_captured_twice():
    graph = torch.cuda.CUDAGraph()
    for _ in range(2):
        with torch.cuda.graph(graph):
            torch.ones(3, device="cuda")


@question(alone=True)
def capture_that_is_left():
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()
        del graph
        return torch.ones(3, device="cuda").tolist()
