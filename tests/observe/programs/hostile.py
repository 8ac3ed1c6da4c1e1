"""Models, inputs and moments that were not thought of."""

import os
import threading
import time
from collections.abc import Mapping

import torch
import torchport
from cases import case, run_all
from torch import nn

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


@case
def attributes_that_raise():
    model = Base()
    model.angry, model.hidden, model.proxy = Angry(), NoDict(), Proxy()
    model.late = property(lambda self: 1 / 0)
    return torchport.verify(model, torch.randn(2, 4), device=D, evaluate=True)


@case
def circles():
    model = Base()
    model.ring = [torch.ones(1, device=D)]
    model.ring.append(model.ring)
    model.back = {"model": model}
    return torchport.verify(model, torch.randn(2, 4), device=D, evaluate=True)


@case
def a_great_many_tensors():
    model = Base()
    model.history = [torch.ones(1, device=D)] * 100_000
    return torchport.verify(model, torch.randn(2, 4), device=D, evaluate=True)


@case
def a_whole_data_set():
    model = Base()
    model.data = [[[[0.0] * 30 for _ in range(30)] for _ in range(30)] for _ in range(30)]
    start = time.perf_counter()
    result = torchport.verify(model, torch.randn(2, 4), device=D, evaluate=True)
    return result.to_dict() | {"quick": time.perf_counter() - start < 5}


@case
def a_deep_input():
    class Deep(nn.Module):
        def forward(self, tree):
            return torch.ones(1)

    tree = {}
    at = tree
    for _ in range(5000):
        at["next"] = {}
        at = at["next"]
    return torchport.verify(Deep(), ((tree,)), evaluate=True)


@case
def names_that_are_markup():
    model = nn.Module()
    model.add_module("</title><script>alert(1)</script>\n\x1b[31m", nn.ReLU())
    model.forward = lambda x: next(model.children())(x)
    result = torchport.verify(model, torch.randn(2), evaluate=True)
    page = result.html()
    return {"scripts": page.count("<script>"), "text": str(result), "ok": result.ok}


@case
def nothing_at_all():
    class Nothing(nn.Module):
        def forward(self):
            return None

    return torchport.verify(Nothing())


@case
def an_empty_batch():
    return torchport.verify(Base(), torch.randn(0, 4), device=D, evaluate=True)


class Subclass(threading.Thread):
    def __init__(self, x):
        super().__init__()
        self.x = x

    def run(self):
        self.x.sum().item()


@case
def threads_with_a_run_of_their_own():
    class Model(nn.Module):
        def forward(self, x):
            thread = Subclass(x)
            thread.start()
            thread.join()
            return x

    result = torchport.verify(Model(), torch.randn(4, device=D), evaluate=True)
    return {"reads": [t.op for t in result.transfers], "start": threading.Thread.start.__module__}


@case
def a_process_forked_within():
    class Model(nn.Module):
        def forward(self, x):
            child = os.fork()
            if child == 0:
                (torch.ones(3) + 1).sum()
                os._exit(5)
            return x + os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    result = torchport.verify(Model(), torch.zeros(2), evaluate=True)
    return {"output": result.output.tolist(), "operators": result.operators}


@case
def workers_of_a_loader():
    data = torch.utils.data.TensorDataset(torch.randn(8, 4))

    def loop(model, _):
        loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2)
        return [model(batch.to(D)) for (batch,) in loader]

    return torchport.verify(Base(), torch.ones(1), device=D, call=loop, training=True)


@case
def interrupted_and_again():
    class Model(nn.Module):
        def forward(self, x):
            raise KeyboardInterrupt

    try:
        torchport.verify(Model(), torch.ones(2))
    except KeyboardInterrupt as error:
        kept = error  # as a notebook does, with all its frames
    again = torchport.verify(Base(), torch.randn(2, 4), evaluate=True)
    return {"ok": again.ok, "operators": again.operators, "kept": kept is not None}


@case
def tensors_are_let_go():
    import gc
    import weakref

    class Model(nn.Module):
        def forward(self, x):
            return x + torch.ones(4)

    x = torch.randn(4, device=D)
    gone = weakref.ref(x)
    result = torchport.verify(Model(), x)
    del x
    gc.collect()
    return {"mixed": result.mixed is not None, "gone": gone() is None}


@case
def many_runs():
    counts = {
        torchport.verify(Base(), torch.randn(2, 4), evaluate=True).operators for _ in range(50)
    }
    return {"counts": list(counts)}


@case
def fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torchport.verify(Base(), torch.randn(2, 4), evaluate=True)


@case
def source_that_is_gone():
    scope = {"torch": torch, "nn": nn}
    code = "class Model(nn.Module):\n  def forward(self, x):\n    return x + torch.ones(4)\n"
    exec(compile(code, "/nowhere/model.py", "exec"), scope)
    return torchport.verify(scope["Model"](), torch.randn(4), device=D)


if __name__ == "__main__":
    run_all()
