"""What query() says while a stream is busy, and what is read when."""

import torch
from recorder.registry import question

EXCLUSIVE = True

LONG = 400_000_000  # clocks of a GPU: some tenths of a second, much more than a call of Python


def ready():
    """A warm device, so that nothing is compiled or allocated while a stream is busy."""
    x = torch.ones(1024, device="cuda")
    (x + 1).cpu()
    torch.cuda.synchronize()
    return x


@question(alone=True)
def sleep_is_asynchronous():
    ready()
    stream = torch.cuda.current_stream()
    before = stream.query()
    torch.cuda._sleep(LONG)
    during = stream.query()
    stream.synchronize()
    return [before, during, stream.query()]


@question(alone=True)
def event_after_sleep():
    ready()
    event = torch.cuda.Event()
    new = event.query()
    torch.cuda._sleep(LONG)
    event.record()
    during = event.query()
    event.synchronize()
    return [new, during, event.query()]


@question(alone=True)
def event_recorded_anew():
    ready()
    event = torch.cuda.Event()
    event.record()
    event.synchronize()
    done = event.query()
    torch.cuda._sleep(LONG)
    again = event.query()
    event.record()
    return [done, again, event.query(), event.synchronize(), event.query()]


@question(alone=True)
def other_stream_is_free():
    ready()
    busy, free = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(busy):
        torch.cuda._sleep(LONG)
    return [busy.query(), free.query(), torch.cuda.current_stream().query()]


@question(alone=True)
def other_stream_that_waits():
    ready()
    busy, other = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(busy):
        torch.cuda._sleep(LONG)
    other.wait_stream(busy)
    told = [busy.query(), other.query()]
    other.synchronize()
    return [*told, busy.query(), other.query()]


@question(alone=True)
def event_waited_for_by_a_stream():
    x = ready()
    busy, other = torch.cuda.Stream(), torch.cuda.Stream()
    event = torch.cuda.Event()
    with torch.cuda.stream(busy):
        torch.cuda._sleep(LONG)
        x.fill_(7)
        event.record()
    other.wait_event(event)
    with torch.cuda.stream(other):
        y = x * 2
    told = [event.query(), other.query()]
    other.synchronize()
    return [*told, y[0].item()]


@question(alone=True)
def default_stream_and_pool_streams():
    ready()
    torch.cuda._sleep(LONG)
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.ones(4, device="cuda").add_(1)
        return [torch.cuda.current_stream().query(), torch.cuda.default_stream().query()]


@question(alone=True)
def read_without_waiting():
    """A stream that does not wait reads what was there before."""
    x = ready()
    busy, other = torch.cuda.Stream(), torch.cuda.Stream()
    y = torch.zeros_like(x)
    torch.cuda.synchronize()
    with torch.cuda.stream(busy):
        torch.cuda._sleep(LONG)
        x.fill_(7)
    with torch.cuda.stream(other):
        y.copy_(x)
    other.synchronize()
    with torch.cuda.stream(other):
        early = y[:1].cpu().item()
    torch.cuda.synchronize()
    return [early, x[0].item()]


@question(alone=True)
def item_waits_for_its_stream_only():
    x = ready()
    busy = torch.cuda.Stream()
    with torch.cuda.stream(busy):
        torch.cuda._sleep(LONG)
    x.sum().item()
    return busy.query()


@question(alone=True)
def synchronize_waits_for_all():
    ready()
    streams = [torch.cuda.Stream() for _ in range(3)]
    for stream in streams:
        with torch.cuda.stream(stream):
            torch.cuda._sleep(LONG)
    torch.cuda.synchronize()
    return [stream.query() for stream in streams]


@question(alone=True)
def pinned_copy_is_asynchronous():
    x = ready()
    into = torch.zeros(1024).pin_memory()
    torch.cuda._sleep(LONG)
    x.add_(4)
    into.copy_(x, non_blocking=True)
    early = into[0].item()
    torch.cuda.synchronize()
    return [early, into[0].item()]


@question(alone=True)
def pinned_source_that_changes():
    x = ready()
    source = torch.ones(1024).pin_memory()
    torch.cuda._sleep(LONG)
    x.copy_(source, non_blocking=True)
    source.fill_(9)
    torch.cuda.synchronize()
    return x[0].item()


@question(alone=True)
def pageable_source_that_changes():
    x = ready()
    source = torch.ones(1024)
    torch.cuda._sleep(LONG)
    x.copy_(source, non_blocking=True)
    busy = not torch.cuda.current_stream().query()
    source.fill_(9)
    torch.cuda.synchronize()
    return [busy, x[0].item()]


@question(alone=True)
def pageable_copy_back():
    x = ready()
    torch.cuda._sleep(LONG)
    y = x.to("cpu", non_blocking=True)
    return [torch.cuda.current_stream().query(), y[0].item()]


@question(alone=True)
def allocation_does_not_wait():
    ready()
    torch.cuda._sleep(LONG)
    kept = torch.empty(1 << 20, device="cuda")
    return [torch.cuda.current_stream().query(), kept.numel()]


@question(alone=True)
def empty_cache_waits_or_not():
    x = torch.ones(1 << 22, device="cuda")
    ready()
    torch.cuda._sleep(LONG)
    del x
    torch.cuda.empty_cache()
    return torch.cuda.current_stream().query()


@question(alone=True)
def freed_block_is_used_in_its_stream():
    ready()
    x = torch.ones(1 << 20, device="cuda")
    place = x.data_ptr()
    torch.cuda._sleep(LONG)
    del x
    return torch.empty(1 << 20, device="cuda").data_ptr() == place


@question(alone=True)
def record_stream_and_a_later_allocation():
    ready()
    other = torch.cuda.Stream()
    x = torch.ones(1 << 20, device="cuda")
    place = x.data_ptr()
    with torch.cuda.stream(other):
        torch.cuda._sleep(LONG)
    x.record_stream(other)
    del x
    early = torch.empty(1 << 20, device="cuda")
    torch.cuda.synchronize()
    later = torch.empty(1 << 20, device="cuda")
    return [early.data_ptr() == place, later.data_ptr() == place]


@question(alone=True)
def elapsed_time_of_a_sleep():
    """Longer sleeps take longer; how long is not the question."""
    ready()
    times = []
    for clocks in (LONG // 8, LONG // 2):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        torch.cuda._sleep(clocks)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return [times[0] > 0, times[1] > 2 * times[0]]


@question(alone=True)
def graph_replay_is_asynchronous():
    x = ready()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.cuda._sleep(LONG)
        x.add_(1)
    graph.replay()
    during = torch.cuda.current_stream().query()
    return [during, x[0].item()]


@question(alone=True)
def capture_does_not_run():
    x = ready()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.add_(1)
    before = x[0].item()
    graph.replay()
    graph.replay()
    return [before, x[0].item()]


@question(alone=True)
def default_stream_handles():
    legacy = torch.cuda.default_stream().cuda_stream
    with torch.cuda.stream(torch.cuda.default_stream()):
        same = torch.cuda.current_stream().cuda_stream == legacy
    return [legacy, same]
