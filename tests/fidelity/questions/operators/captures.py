"""Whether a graph can capture each operator of PyTorch's own database."""

import torch
from recorder.asking import leave_this_process
from recorder.database import first_working, operators, refusal
from recorder.registry import generated


def captured(entry):
    given = first_working(entry)
    if given is None:
        return "no sample"
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    try:
        with torch.no_grad(), torch.cuda.graph(graph):
            entry(given[0], *given[1], **given[2])
        graph.replay()
        torch.cuda.synchronize()
    except Exception as error:
        if not captures_work():
            leave_this_process("captures no longer work")
        return refusal(error)
    return True


def captures_work():
    """A refused capture may leave a generator or the allocator behind as if it went on."""
    try:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            torch.rand(9, device="cuda")
        graph.replay()
        torch.rand(9, device="cuda").sum().item()
    except Exception:
        return False
    return True


generated(operators({"captured": captured}))
