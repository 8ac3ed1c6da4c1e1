"""Several observations at once: within one another, and on threads."""

from __future__ import annotations

import os
import threading

import pytest
import torch
import torchport
from torch import nn

pytestmark = pytest.mark.devices("cuda:2")


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


def test_one_within_another() -> None:
    found = []

    class Outer(nn.Module):
        def forward(self, x):
            found.append(torchport.verify(Layers(2), x, evaluate=True))
            return found[0].output + 1

    alone = counts(torchport.verify(Layers(2), torch.randn(2, 4), evaluate=True))
    outer = counts(torchport.verify(Outer(), torch.randn(2, 4), evaluate=True))
    inner = counts(found[0])
    assert inner == alone, "the inner one sees what it sees alone"
    assert inner["operators"] == 2
    assert outer["operators"] >= 3, "the outer one sees both"
    assert outer["modules"]["(Sequential)"] == [1, 0], "with the modules of the inner model"
    assert outer["modules"]["(Linear)"] == [1, 1]


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


def test_each_thread_has_its_own() -> None:
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
    assert together == alone
    assert together["cuda:0"]["modules"]["layers.1"][0] == 1
    assert "layers.4" not in together["cuda:0"]["modules"]
    assert threading.Thread.start is before, "threads start as before, whichever ended last"


def test_a_mixed_call_is_told_to_all_that_watch_its_thread() -> None:
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
    assert {name: result.mixed.culprit.name for name, result in found.items()} == {
        "mixing": "torch.ones(4)",
        "outer": "torch.ones(4)",
    }


def test_forked_children_watch_for_themselves() -> None:
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
    assert outer.operators == 1 and int(os.read(read, 10)) == 3
