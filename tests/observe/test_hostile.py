"""Models, inputs and moments that were not thought of: an answer, or the program's own error."""

from __future__ import annotations

import gc
import json
import os
import threading
import time
import weakref
from collections.abc import Mapping

import pytest
import torch
import torchport
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

pytestmark = pytest.mark.devices("cuda:1")

D = "cuda"


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x)


class Angry(Mapping):
    def __getitem__(self, key):
        raise RuntimeError("no")

    def __iter__(self):
        raise RuntimeError("no")

    def __len__(self):
        return 3


class NoDict:
    @property
    def __dict__(self):
        raise OSError("nothing to see")


class Proxy:
    def __getattr__(self, name):
        raise KeyError(name)


def sound(model: nn.Module, *, rows: int = 2) -> bool:
    """Whether verify has nothing to say of the model, and can write that as JSON."""
    result = torchport.verify(model, torch.randn(rows, 4), device=D, evaluate=True)
    assert json.dumps(result.to_dict())
    assert result.ok, result.findings
    return result.ok


def test_attributes_that_raise() -> None:
    model = Base()
    model.angry, model.hidden, model.proxy = Angry(), NoDict(), Proxy()
    model.late = property(lambda self: 1 / 0)
    assert sound(model)


def test_circles() -> None:
    model = Base()
    model.ring = [torch.ones(1, device=D)]
    model.ring.append(model.ring)
    model.back = {"model": model}
    assert sound(model)


def test_a_great_many_tensors() -> None:
    model = Base()
    model.history = [torch.ones(1, device=D)] * 100_000
    assert sound(model)


def test_an_empty_batch() -> None:
    assert sound(Base(), rows=0)


def test_fake_tensors() -> None:
    with FakeTensorMode():
        result = torchport.verify(Base(), torch.randn(2, 4), evaluate=True)
    assert json.dumps(result.to_dict())
    assert result.ok, result.findings


def test_large_attributes_are_not_walked_to_their_end() -> None:
    model = Base()
    model.data = [[[[0.0] * 30 for _ in range(30)] for _ in range(30)] for _ in range(30)]
    start = time.perf_counter()
    assert sound(model)
    assert time.perf_counter() - start < 5


def test_a_deep_input() -> None:
    class Deep(nn.Module):
        def forward(self, tree):
            return torch.ones(1)

    tree: dict = {}
    at = tree
    for _ in range(5000):
        at["next"] = {}
        at = at["next"]
    result = torchport.verify(Deep(), ((tree,)), evaluate=True)
    assert json.dumps(result.to_dict())
    assert result.operators == 1


def test_no_inputs_and_no_operators() -> None:
    class Nothing(nn.Module):
        def forward(self):
            return None

    nothing = torchport.verify(Nothing())
    assert json.dumps(nothing.to_dict())
    assert not nothing.ok
    assert "nothing-ran" in {finding.code for finding in nothing.findings}


def test_names_are_no_markup_and_no_terminal_codes() -> None:
    model = nn.Module()
    model.add_module("</title><script>alert(1)</script>\n\x1b[31m", nn.ReLU())
    model.forward = lambda x: next(model.children())(x)
    result = torchport.verify(model, torch.randn(2), evaluate=True)
    assert result.html().count("<script>") == 0 and result.ok
    assert "\x1b" not in str(result)


class Subclass(threading.Thread):
    def __init__(self, x):
        super().__init__()
        self.x = x

    def run(self):
        self.x.sum().item()


def test_threads_with_a_run_of_their_own() -> None:
    class Model(nn.Module):
        def forward(self, x):
            thread = Subclass(x)
            thread.start()
            thread.join()
            return x

    result = torchport.verify(Model(), torch.randn(4, device=D), evaluate=True)
    assert [t.op for t in result.transfers] == ["aten::item"]
    assert threading.Thread.start.__module__ == "threading"


def test_a_process_forked_within() -> None:
    class Model(nn.Module):
        def forward(self, x):
            child = os.fork()
            if child == 0:
                (torch.ones(3) + 1).sum()
                os._exit(5)
            return x + os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    result = torchport.verify(Model(), torch.zeros(2), evaluate=True)
    assert result.output.tolist() == [5.0, 5.0] and result.operators == 1


def test_workers_of_a_loader() -> None:
    data = torch.utils.data.TensorDataset(torch.randn(8, 4))

    def loop(model, _):
        loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2)
        return [model(batch.to(D)) for (batch,) in loader]

    result = torchport.verify(Base(), torch.ones(1), device=D, call=loop, training=True)
    assert json.dumps(result.to_dict())
    assert [t.count for t in result.transfers if t.kind == "to device"] == [2]


def test_interrupted_and_again() -> None:
    class Model(nn.Module):
        def forward(self, x):
            raise KeyboardInterrupt

    # The error is kept, as a notebook keeps it, with all its frames.
    with pytest.raises(KeyboardInterrupt) as kept:
        torchport.verify(Model(), torch.ones(2))
    again = torchport.verify(Base(), torch.randn(2, 4), evaluate=True)
    assert again.ok and again.operators == 1 and kept.value is not None


def test_many_runs() -> None:
    for _ in range(50):
        assert torchport.verify(Base(), torch.randn(2, 4), evaluate=True).operators == 1


def test_tensors_are_let_go() -> None:
    class Model(nn.Module):
        def forward(self, x):
            return x + torch.ones(4)

    x = torch.randn(4, device=D)
    gone = weakref.ref(x)
    result = torchport.verify(Model(), x)
    del x
    gc.collect()
    assert result.mixed is not None and gone() is None


def test_a_program_without_its_source() -> None:
    scope = {"torch": torch, "nn": nn}
    code = "class Model(nn.Module):\n  def forward(self, x):\n    return x + torch.ones(4)\n"
    exec(compile(code, "/nowhere/model.py", "exec"), scope)
    result = torchport.verify(scope["Model"](), torch.randn(4), device=D)
    assert json.dumps(result.to_dict())
    mixed = result.mixed
    assert mixed.line.line == 3 and mixed.line.text == ""
    assert mixed.fixed_line == "" and mixed.fix


def test_garbage_that_is_collected_while_a_place_is_looked_up() -> None:
    """Finalizers run operators at each moment at which Python may collect garbage."""

    class Garbage:
        def __init__(self):
            self.circle = self

        def __del__(self):
            torch.ones(2).sum().item()

    class Layer(nn.Module):
        def forward(self, x):
            Garbage()
            return x + 1

    model = nn.Sequential(*(Layer() for _ in range(5)))
    before = gc.get_threshold()
    try:
        for threshold in range(1, 60):
            gc.set_threshold(threshold, 1000, 1000)
            result = torchport.verify(model, torch.ones(2), evaluate=True)
            assert result.output.tolist() == [6.0, 6.0]
    finally:
        gc.set_threshold(*before)
