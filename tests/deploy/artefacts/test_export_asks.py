"""What a model asks or does that only an export shows: questions of torch, other threads, Python on elements."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

import models
import pytest
import torch
import torchport
from test_export import fresh, nothing_left
from torch import is_grad_enabled as records
from torch import nn
from torch.compiler import is_exporting as by_another_name
from torchport import ExportError

pytestmark = [pytest.mark.devices(None, timeout=600), pytest.mark.usefixtures("own_folder")]

POOL = ThreadPoolExecutor(1)
POOL.submit(int).result()  # its thread is older than any export
THREADS = ThreadPool(1)


def export(model, to, path="out", **more):
    return torchport.export(model.eval(), models.rows(), to=to, path=path, **more)


class Asks(models.Plain):
    """Computes something different while it is exported, on inputs above `from_`."""

    def __init__(self, question, from_):
        super().__init__()
        self.question = question
        self.from_ = from_

    def forward(self, x):
        if not self.question():
            x = torch.where(x.abs() > self.from_, torch.zeros_like(x), x)
        return self.layers(x)


QUESTIONS = [
    ("torchscript", torch.jit.is_tracing),
    ("pt2", torch.compiler.is_exporting),
    ("pt2", by_another_name),
    ("onnx", torch.compiler.is_compiling),
]


@pytest.mark.parametrize(("to", "question"), QUESTIONS)
def test_a_question_is_in_the_contract_with_its_line(to, question):
    done = export(Asks(question, 1e8), to)
    line = Asks.forward.__code__.co_firstlineno + 1
    name = question.__name__
    assert any(
        text.startswith(f"test_export_asks.py:{line} asks torch.") and name in text
        for text in done.contract["assumes"]
    ), done.contract["assumes"]
    assert not question()
    assert "_torchport_" not in " ".join(question.__globals__)


@pytest.mark.parametrize(("to", "question"), QUESTIONS)
def test_another_result_on_a_tried_input_is_refused(to, question):
    with pytest.raises(ExportError, match=r"asks whether it is being exported") as caught:
        export(Asks(question, 100.0), to, fresh("asks"))
    line = Asks.forward.__code__.co_firstlineno + 1
    assert f"test_export_asks.py:{line} asks torch." in str(caught.value)
    nothing_left("asks")


def test_a_question_that_has_the_same_answer_is_not_named():
    for to, question in [
        ("torchscript", torch.compiler.is_exporting),
        ("pt2", torch.jit.is_tracing),
    ]:
        assert export(Asks(question, 1e8), to).contract["assumes"] == []


def test_only_scripting_answers_is_scripting():
    class Scripted(models.Plain):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if torch.jit.is_scripting():
                return self.layers(x)
            return self.layers(torch.where(x.abs() > 1e8, torch.zeros_like(x), x))

    done = export(Scripted(), "torchscript", script=True)
    assert any("torch.jit.is_scripting()" in text for text in done.contract["assumes"])
    assert export(Scripted(), "torchscript").contract["assumes"] == []


def in_a_pool(x):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: bool((x.abs().amax() > 1e8).item())).result()


def in_an_older_pool(x):
    return POOL.submit(lambda: bool((x.abs().amax() > 1e8).item())).result()


def is_large(x):
    return bool((x.abs().amax() > 1e8).item())


def in_threads(x):
    with ThreadPool(1) as pool:
        return pool.map(is_large, [x])[0]


def in_older_threads(x):
    return THREADS.apply(is_large, (x,))


def mapped_to_threads(x):
    return THREADS.map(is_large, [x, x])[0] or THREADS.starmap(is_large, [(x,)])[0]


def in_turn(x):
    return next(iter(THREADS.imap(is_large, [x, x], 2)))


def in_any_turn(x):
    return any(THREADS.imap_unordered(is_large, [x]))


def in_a_thread(x):
    found = []
    thread = threading.Thread(target=lambda: found.append(x.abs().amax().item() > 1e8))
    thread.start()
    thread.join()
    return found[0]


def text_in_a_thread(x):
    return POOL.submit(lambda: "1e+08" in repr(x.amax())).result()


class Elsewhere(models.Plain):
    def __init__(self, look):
        super().__init__()
        self.look = look

    def forward(self, x):
        return self.layers(-x if self.look(x) else x)


LOOKS = [
    *(in_a_pool, in_an_older_pool, in_a_thread, in_threads, in_older_threads),
    *(mapped_to_threads, in_turn, in_any_turn),
]


@pytest.mark.parametrize("look", LOOKS)
def test_a_read_in_another_thread_is_a_read(look):
    with pytest.raises(ExportError, match="values of the inputs, in another thread") as caught:
        export(Elsewhere(look), "torchscript", fresh("threads"))
    assert "test_export_asks.py:" in str(caught.value)
    nothing_left("threads")
    done = export(Elsewhere(look), "torchscript", allow_baked=True)
    assert any("in another thread" in text for text in done.contract["assumes"])
    assert threading.Thread.run.__module__ == "threading"
    assert ThreadPool.apply_async.__code__.co_filename.endswith("pool.py")


def test_a_text_that_another_thread_makes_is_named():
    try:
        done = export(Elsewhere(text_in_a_thread), "torchscript", fresh("text"))
    except ExportError as error:
        assert "in another thread" in str(error)
    else:
        assert any("as text" in text for text in done.contract["assumes"])


def test_a_thread_that_reads_only_weights_is_no_read():
    class Weights(models.Plain):
        def forward(self, x):
            big = POOL.submit(lambda: self.layers[0].weight[0, 0].item() > 1e8).result()
            return self.layers(-x if big else x)

    export(Weights(), "torchscript", allow_baked=True)


def applied(x):
    return x.clone().apply_(lambda v: v if abs(v) < 1e8 else 0.0)


def mapped(x):
    result = x.clone()
    result.map_(x, lambda a, b: a if abs(b) < 1e8 else 0.0)
    return result


def applied_in_a_thread(x):
    return POOL.submit(lambda: applied(x)).result()


class Applies(models.Plain):
    def __init__(self, change):
        super().__init__()
        self.change = change

    def forward(self, x):
        return self.layers(x + self.change(x) * 0)


@pytest.mark.parametrize("change", [applied, mapped, applied_in_a_thread])
@pytest.mark.parametrize("to", ["torchscript", "pt2", "onnx"])
def test_python_on_each_element_is_refused(change, to):
    with pytest.raises(ExportError) as caught:
        export(Applies(change), to, fresh("elements"), allow_baked=to == "torchscript")
    if to == "torchscript":
        assert "Python on each element of a tensor" in str(caught.value)
        assert "test_export_asks.py:" in str(caught.value)
    nothing_left("elements")


def test_python_on_each_element_of_what_the_trace_makes_is_refused_too():
    class Table(nn.Module):
        def forward(self, x):
            return x * torch.ones(6).apply_(lambda v: v * 2)

    with pytest.raises(ExportError, match="Python on each element"):
        export(Table(), "torchscript", fresh("table"))
    nothing_left("table")


class Sees(nn.Module):
    def forward(self, x):
        largest = x.amax(1) + x.sign().sum(1) + x.argmax(1)
        return largest + x.clamp(max=0.5).sum(1)


class Largest(nn.Module):
    def forward(self, x):
        return x.amax(1)


class Looks(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 4)
        self.places = nn.Embedding(20, 4)

    def forward(self, ids):
        return self.table(ids) + self.places(torch.arange(ids.shape[1]))


class OneHot(nn.Module):
    def forward(self, ids):
        return nn.functional.one_hot(ids, 20).float()


def test_what_onnx_runtime_computes_otherwise_is_in_the_contract():
    def assumes(model, inputs, to="onnx"):
        done = torchport.export(model.eval(), inputs, to=to, path="unlike")
        return done.contract["assumes"]

    line = Sees.forward.__code__.co_firstlineno + 1
    at = f"at test_export_asks.py:{line}"
    nan, infinite = assumes(Sees(), models.rows())
    assert nan.startswith("NaN: ONNX Runtime answers otherwise") and "clamp" not in nan
    assert all(f"{name} {at}" in nan for name in ("amax", "sign", "argmax"))
    assert (
        infinite.startswith("infinities: ")
        and f"clamp at test_export_asks.py:{line + 1}" in infinite
    )
    assert assumes(Sees(), models.rows(), "pt2") == []
    line = Looks.forward.__code__.co_firstlineno + 1
    (indices,) = assumes(Looks(), models.ids())
    assert indices.startswith("indices that torch refuses, such as -1: ")
    assert f"embedding at test_export_asks.py:{line}" in indices
    (indices,) = assumes(OneHot(), models.ids())
    assert "one_hot at" in indices
    assert assumes(models.Plain(), models.rows()) == []
    assert len(assumes(Largest(), models.rows())) == 1
    assert assumes(Largest(), torch.arange(12).reshape(3, 4)) == []


def asks_for_gradients(x):
    return x if torch.is_grad_enabled() else x * 2


def asks_by_another_name(x):
    return x if records() else x * 2


def asks_for_inference(x):
    return x if torch.is_inference_mode_enabled() else x * 2


def asks_for_order(x):
    return x if x.is_contiguous() else x * 2


def asks_for_steps(x):
    return x if x.stride(0) > 1 else x * 2


CALLERS = [
    (asks_for_gradients, "torch.is_grad_enabled()"),
    (asks_by_another_name, "torch.is_grad_enabled()"),
    (asks_for_inference, "torch.is_inference_mode_enabled()"),
    (asks_for_order, "is_contiguous"),
    (asks_for_steps, "stride"),
]


@pytest.mark.parametrize("to", ["torchscript", "pt2", "onnx"])
@pytest.mark.parametrize(("asks", "words"), CALLERS, ids=lambda one: getattr(one, "__name__", ""))
def test_what_the_caller_of_an_artefact_chooses_is_in_the_contract(asks, words, to):
    class Asking(models.Plain):
        def forward(self, x):
            return self.layers(asks(x))

    assumes = export(Asking(), to).contract["assumes"]
    line = asks.__code__.co_firstlineno + 1
    assert any(
        text.startswith(f"test_export_asks.py:{line} asks ") and words in text for text in assumes
    ), assumes


def test_what_torch_itself_asks_is_not_named():
    class Attends(models.Plain):
        def forward(self, x):
            h = self.layers(x).contiguous()
            return torch.nn.functional.layer_norm(h.reshape(-1, 4), (4,)).view_as(h)

    assert export(Attends(), "torchscript").contract["assumes"] == []
