"""Several observations at once: within one another, on threads, beside a report. Two virtual devices."""

import os
import threading

import torch
import torchport
from cases import case, run_all
from torch import nn


class Layers(nn.Module):
    def __init__(self, count: int):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(4, 4) for _ in range(count)))

    def forward(self, x):
        return self.layers(x)


def step(model, x):
    model(x).sum().backward()


def counts(result) -> dict:
    return {
        "operators": result.operators,
        "devices": result.devices,
        "modules": {m.name: [m.calls, m.operators] for m in result.modules},
    }


@case
def one_within_another():
    inner = []

    class Outer(nn.Module):
        def forward(self, x):
            inner.append(torchport.verify(Layers(2), x, evaluate=True))
            return inner[0].output + 1

    alone = torchport.verify(Layers(2), torch.randn(2, 4), evaluate=True)
    outer = torchport.verify(Outer(), torch.randn(2, 4), evaluate=True)
    return {"alone": counts(alone), "inner": counts(inner[0]), "outer": counts(outer)}


def trained(device: str, layers: int, begun=None, may_end=None) -> dict:
    """A training step on one device; its backward pass runs on that device's own thread."""

    def call(model, x):
        if begun is not None:
            begun.set()
        step(model, x)
        if may_end is not None:
            may_end.wait(60)

    model = Layers(layers)
    return counts(torchport.verify(model, torch.randn(2, 4), device=device, call=call))


@case
def on_two_threads():
    alone = {"cuda:0": trained("cuda:0", 2), "cuda:1": trained("cuda:1", 5)}
    before = threading.Thread.start
    begun, may_end = threading.Event(), threading.Event()
    together = {}

    def first():
        together["cuda:0"] = trained("cuda:0", 2, begun, may_end)

    thread = threading.Thread(target=first)
    thread.start()
    begun.wait(60)
    # Begins after the other one, and ends before it.
    together["cuda:1"] = trained("cuda:1", 5)
    may_end.set()
    thread.join()
    restored = threading.Thread.start is before
    return {"alone": alone, "together": together, "restored": restored}


@case
def mixed_on_one_thread_alone():
    class Mixing(nn.Module):
        def forward(self, x):
            return x + torch.ones(4)

    found = {}

    def mixing():
        found["mixing"] = torchport.verify(Mixing(), torch.randn(4), device="cuda:1")

    class Starting(Layers):
        def forward(self, x):
            # The thread is one of this model's, so both see it.
            thread = threading.Thread(target=mixing)
            thread.start()
            thread.join()
            return super().forward(x)

    found["outer"] = torchport.verify(Starting(1), torch.randn(2, 4), device="cuda:0")
    return {name: result.mixed.culprit.name for name, result in found.items()}


@case
def in_a_forked_child():
    """The child of a watched process watches by itself, and the parent sees nothing of it."""
    read, write = os.pipe()

    def call(model, x):
        child = os.fork()
        if child == 0:
            seen = torchport.verify(Layers(3), torch.randn(2, 4), evaluate=True).operators
            os.write(write, str(seen).encode())
            os._exit(0)
        os.waitpid(child, 0)
        return model(x)

    outer = torchport.verify(Layers(1), torch.randn(2, 4), call=call, evaluate=True)
    return {"outer": outer.operators, "child": int(os.read(read, 10))}


run_all()
