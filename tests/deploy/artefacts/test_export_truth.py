"""torchport.export never calls a wrong artefact right: branches, state, constants, hard inputs."""

from __future__ import annotations

import ctypes
import json
import math
import pickle
from collections import namedtuple
from pathlib import Path

import models
import models_with_memory as odd
import pytest
import torch
import torchport
from test_export import ALL, contract_in, fresh, nothing_left
from torch import nn
from torchport import ExportError, NotVerified

pytestmark = [pytest.mark.devices(None, timeout=600), pytest.mark.usefixtures("own_folder")]


def export(model, inputs, to, path="out", **more):
    return torchport.export(model, inputs, to=to, path=path, **more)


@pytest.mark.parametrize("function", odd.VALUES, ids=lambda function: function.__name__)
def test_a_trace_that_reads_values_is_refused_with_its_line(function):
    line = function.__code__.co_firstlineno + 1
    path = fresh("refused")
    with pytest.raises(ExportError, match=f"models_with_memory.py:{line} ") as caught:
        export(odd.with_forward(function), models.rows(), "torchscript", path)
    assert "values of the inputs" in str(caught.value) and "--script" in str(caught.value)
    nothing_left("refused")


@pytest.mark.parametrize("function", odd.HARMLESS, ids=lambda function: function.__name__)
def test_a_trace_that_reads_no_values_is_written(function):
    done = export(odd.with_forward(function), models.rows(), "torchscript")
    assert not any("values" in text for text in done.contract["assumes"])


def test_a_read_of_a_size_is_in_the_contract_and_other_sizes_are_compared():
    done = export(odd.with_forward(odd.of_a_size), models.rows(), "torchscript")
    (assumed,) = done.contract["assumes"]
    assert assumed.startswith("models_with_memory.py:") and "sizes of the inputs" in assumed
    with pytest.raises(NotVerified, match="shape"):
        export(
            odd.with_forward(odd.of_a_size), models.rows(), "torchscript", fresh("s"),
            dynamic="batch",
        )  # fmt: skip


def test_an_accepted_branch_is_named_in_the_contract_and_the_other_way_is_found_out():
    positive = models.rows().abs()
    with pytest.raises(NotVerified, match="negated"):
        export(models.branching(), positive, "torchscript", fresh("no"), allow_baked=True)
    nothing_left("no")

    class Checks(models.Plain):
        def forward(self, x):
            assert x.shape[1] == 6
            if x.isnan().any():
                raise ValueError("NaN")
            return self.layers(x)

    with pytest.raises(ExportError, match="allow-baked"):
        export(Checks().eval(), positive, "torchscript", fresh("checks"))
    done = export(Checks().eval(), positive, "torchscript", allow_baked=True)
    assert any("branches on values" in text for text in done.contract["assumes"])
    done = export(models.branching(), positive, "torchscript", script=True)
    assert done.parity.absolute == 0
    with pytest.raises(ExportError, match="data"):
        export(models.branching(), models.rows(), "pt2")


STATEFUL = [
    (odd.Counting, "n"),
    (odd.CountingByAssignment, "n"),
    (odd.CountingInPython, "calls"),
    (odd.Remembering, "memory.seen"),
    (odd.ReturnsItsBuffer, "n"),
]


@pytest.mark.parametrize("to", ALL)
@pytest.mark.parametrize(
    ("kind", "name"), STATEFUL, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_model_with_state_is_refused_and_stays_as_it_was(kind, name, to):
    model = kind().eval()
    with pytest.raises(ExportError, match=f"keeps state: its forward changes {name}") as caught:
        export(model, models.rows(), to, fresh("state"))
    line = kind.forward.__code__.co_firstlineno + 1
    assert f"models_with_memory.py:{line}," in str(caught.value)
    nothing_left("state")
    if "n" in dict(model.named_buffers()):
        assert model.n == 0
    assert getattr(model, "calls", 0) == 0
    if hasattr(model, "memory"):
        assert model.memory.seen == []


@pytest.mark.parametrize("to", ALL)
def test_changes_without_an_effect_are_taken_back(to):
    model = odd.LogsCalls().eval()
    done = export(model, models.rows(), to)
    assert model.n == 0 and not hasattr(model, "last")
    assert any(note.startswith("the forward changes n, last") for note in done.notes), done.notes
    saved = {"pt2": lambda: torch.export.load("out").state_dict["n"],
             "torchscript": lambda: dict(torch.jit.load("out").named_buffers())["module.n"]}  # fmt: skip
    if to in saved:
        assert saved[to]() == 0
    model = odd.Overwrites().eval()
    assert export(model, models.rows(), to).parity.relative < 1e-5
    assert not model.work.any()


def test_a_cache_that_gives_equal_results_is_seen_in_the_graph():
    inputs = (models.rows()[:2], torch.tensor([0, 1]))
    for to in ("pt2", "onnx"):
        with pytest.raises(ExportError, match="keeps state: its forward changes keys"):
            export(odd.Cache().eval(), inputs, to, fresh(f"cache-{to}"))


def test_changed_weights_and_changed_inputs():
    model = odd.ChangesItsWeights().eval()
    before = model.layers[0].weight.clone()
    with pytest.raises(ExportError, match=r"keeps state: its forward changes layers\.0\.weight"):
        export(model, models.rows(), "pt2")
    assert torch.equal(model.layers[0].weight, before)
    rows = models.rows()
    for to in ALL:
        done = export(odd.ChangesItsInput().eval(), rows, to)
        assert torch.equal(rows, models.rows())
        assert any("input x in place" in text for text in done.contract["assumes"])


def test_the_random_numbers_of_the_program_go_on_as_without_the_export():
    torch.manual_seed(3)
    wanted = torch.rand(3)
    torch.manual_seed(3)
    export(models.plain, models.rows(), "pt2")  # the factory sets a seed of its own
    torch.manual_seed(3)
    model = models.Plain()
    after_model = torch.get_rng_state()
    export(model.eval(), models.rows(), "torchscript")
    assert torch.equal(torch.get_rng_state(), after_model)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(3), wanted)


def test_arguments_that_are_baked_in_are_in_the_contract():
    model = odd.Settings().eval()
    for to in ALL:
        done = export(model, (models.rows(), 3.0), to)
        assert contract_in(Path("out"), to)["constants"] == {
            "scale": 3.0, "flag": False, "mode": "plain", "mask": None,
        }  # fmt: skip
        assert done.parity.relative < 1e-5
    inputs = {"x": models.rows(), "scale": float("inf"), "flag": True, "mode": torch.float32}
    done = export(model, inputs, "torchscript", allow_nan=True)
    assert done.contract["constants"] == {
        "scale": "inf", "flag": True, "mode": "torch.float32", "mask": None,
    }  # fmt: skip


def test_the_form_of_the_result_is_kept_or_in_the_contract():
    def returns(model, to):
        return export(model.eval(), models.rows(), to).contract["returns"]

    assert returns(models.plain(), "torchscript") == {"model": "tensor", "artefact": "tensor"}
    assert isinstance(torch.jit.load("out")(models.rows()), torch.Tensor)
    assert returns(odd.InATuple(), "torchscript") == {
        "model": "tuple(tensor)", "artefact": "tuple of 1: output",
    }  # fmt: skip
    assert returns(odd.InAPair(), "pt2") == {
        "model": "Pair(first: tensor, second: list(tensor, None))",
        "artefact": "tuple(tensor, list(tensor, None))",
    }
    assert returns(odd.InAPair(), "onnx")["artefact"] == "2 by name: first, second_0"


def test_a_result_of_a_class_that_torch_cannot_save_becomes_a_tuple():
    other = namedtuple("other", "first")

    class Returns(models.Plain):
        def forward(self, x):
            return other(self.layers(x))

    done = export(Returns().eval(), models.rows(), "pt2", fresh("named"))
    assert done.contract["returns"] == {
        "model": "other(first: tensor)",
        "artefact": "tuple(tensor)",
    }
    with Path(done.path).open("rb") as file:
        result = torch.export.load(file).module()(models.rows())
    assert type(result) is tuple and result[0].shape == (4, 4)


class Sparse(models.Plain):
    def forward(self, x):
        return self.layers(x).to_sparse()


class Quantized(models.Plain):
    def forward(self, x):
        return torch.quantize_per_tensor(self.layers(x), 0.1, 0, torch.qint8)


@pytest.mark.parametrize(("model", "what"), [(Sparse, "sparse_coo"), (Quantized, "quantized")])
def test_a_result_that_is_no_dense_tensor_is_refused_in_words(model, what):
    with pytest.raises(ExportError, match=rf"returns a {what} tensor at the top.*dense"):
        export(model().eval(), models.rows(), "pt2", fresh("sparse"))
    nothing_left("sparse")


def test_an_input_that_is_no_dense_tensor_is_refused_in_words():
    with pytest.raises(ExportError, match=r"input x is a sparse_coo tensor.*dense"):
        export(models.Plain().eval(), models.rows().to_sparse(), "pt2", fresh("sparse"))
    nothing_left("sparse")


def test_an_operator_that_torch_cannot_save_is_named_without_the_lines_of_torch():
    class Quantizes(models.Plain):
        def forward(self, x):
            return torch.quantize_per_tensor(self.layers(x), 0.1, 0, torch.qint8).dequantize()

    with pytest.raises(ExportError, match=r"aten.quantize_per_tensor.*qint8") as caught:
        export(Quantizes().eval(), models.rows(), "pt2", fresh("quantizes"))
    assert "Traceback" not in str(caught.value) and "File " not in str(caught.value)
    nothing_left("quantizes")


def test_what_is_constant_and_how_results_come_is_in_the_report(capsys):
    from torchport.deploy.artefact.command import report

    told = report(export(odd.Settings().eval(), models.rows(), "torchscript"))
    assert "constant scale=2.0, flag=False, mode='plain'" in told
    told = report(export(odd.InAPair().eval(), models.rows(), "torchscript"))
    assert "returns  tuple of 2: first, second_0 (the model: Pair(" in told


KINDS = {
    "negated": lambda x: (x < 0).float(),
    "small": lambda x: (x.abs() < 1e-2).float(),
    "large": lambda x: (x.abs() > 20).float(),
    "zero": lambda x: (x == 0).float(),
    "constant": lambda x: (x[0] == x[1]).float(),
    "permuted": lambda x: (x[0, :1] != models.rows().abs().clamp(min=0.1)[0, 0]).float(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_input_finds_what_only_it_shows(kind, monkeypatch):
    """An artefact that is right on the sample and differs where KINDS says so."""
    from torchport.deploy.artefact.formats import torchscript

    sample = models.rows().abs().clamp(min=0.1)
    real = torchscript.ScriptArchive.runner

    def runner(self, subject, path):
        run, name = real(self, subject, path)
        return lambda inputs: [out + KINDS[kind](inputs.tensors[0]) for out in run(inputs)], name

    class Same(nn.Module):
        def forward(self, x):
            return x * 1.0

    monkeypatch.setattr(torchscript.ScriptArchive, "runner", runner)
    assert not KINDS[kind](sample).any()
    with pytest.raises(NotVerified) as caught:
        export(Same().eval(), sample, "torchscript", fresh("wrong"))
    assert any(f"({kind})" in finding for finding in caught.value.findings), caught.value.findings


def test_sizes_at_both_ends_of_each_axis_are_compared():
    done = export(
        models.table(), models.ids(), "onnx",
        dynamic=["ids:0=batch[1..6]", "ids:1=tokens[2..]"],
    )  # fmt: skip
    seen = {tuple(batch["ids"]) for batch in done.parity.batches}
    assert {(6, 16), (1, 5), (2, 2), (6, 5), (2, 16)} <= seen, seen
    assert {"batch=6, tokens=16", "batch=2, tokens=2"} <= set(done.parity.kinds)


def test_an_end_that_is_too_large_is_named():
    done = export(models.plain(), models.rows(), "pt2", dynamic="x:0=batch[1..100000000]")
    assert done.parity.skipped == {"batch=100000000": "the inputs would be too large"}


def test_a_size_that_the_model_does_not_accept_is_an_error():
    class Needs(models.Plain):
        def forward(self, x):
            if x.shape[0] < 2:
                raise ValueError("at least two rows")
            return self.layers(x)

    with pytest.raises(ExportError, match="fails on x \\[1, 6\\], at ") as caught:
        export(Needs().eval(), models.rows(), "torchscript", fresh("needs"), dynamic="batch")
    assert "at least two rows" in str(caught.value) and "--dynamic" in str(caught.value)
    export(Needs().eval(), models.rows(), "torchscript", dynamic="batch[2..]")


def test_values_that_the_model_refuses_are_skipped_and_told():
    class Root(models.Plain):
        def forward(self, x):
            return self.layers(x.log())

    done = export(Root().eval(), models.rows().abs() + 0.1, "pt2")
    assert "negated" in done.parity.skipped and "NaN or Inf" in done.parity.skipped["negated"]
    assert "sample" in done.parity.kinds
    done = export(nn.Embedding(20, 4).eval(), models.ids(), "pt2")
    assert not done.parity.skipped and {"constant", "permuted"} <= set(done.parity.kinds)


def test_a_difference_that_rounding_explains_is_no_error_and_is_told():
    class Sine(models.Plain):
        def forward(self, x):
            # So long a sum that two libraries never add it up in the same order.
            long = (x * 0.7).repeat(1, 200).matmul(torch.full((1200, 3), 1 / 200))
            return (long * 50).sin()

    class Ties(models.Plain):
        def forward(self, x):
            return self.layers(x), (x @ x.T.contiguous()).argmax(-1)

    torch.manual_seed(0)
    done = export(Sine().eval(), models.rows() * 0.1, "onnx")
    assert "large" in done.parity.sensitive, done.parity
    assert export(Ties().eval(), models.rows(), "onnx").parity.relative < 1e-4


def test_a_wrong_artefact_is_not_excused_by_random_numbers():
    with pytest.raises(NotVerified, match="dropout"):
        export(models.dropping(), models.rows(), "onnx", fresh("random"))


def test_a_sample_of_ones_gets_other_values():
    done = export(models.branching(), torch.ones(4, 6), "torchscript", script=True)
    assert "other values" in done.parity.kinds and "negated" in done.parity.kinds


def test_the_contract_names_the_kinds_of_batches():
    done = export(models.plain(), models.rows(), "pt2")
    parity = json.loads(json.dumps(done.contract))["parity"]
    assert parity["kinds"][:3] == ["sample", "other values", "negated"]
    assert parity["kinds"][9:] == ["batch=1", "batch=5", "batch=9", "batch=33", "batch=129"]
    assert len(parity["kinds"]) == len(parity["batches"]) == 14


class Peeking(nn.Module):
    """Doubles its result by what `look` finds in the input."""

    def __init__(self, look):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(models.rows().shape[1], 4)
        self.look = look

    def forward(self, x):
        return self.layer(x) * (2 if self.look(x) else 1)


def text_of(x):
    return "100." in repr(x)


def format_of(x):
    return f"{x}".startswith("100")


def memory_of(x):
    return bytes(x.untyped_storage()[:4]) == b"\0\0\xc8B"


def typed_memory_of(x):
    return x.storage()[0] > 50


def address_of(x):
    return ctypes.c_float.from_address(x.data_ptr()).value > 50


def pickle_of(x):
    return b"\0\0\xc8B" in pickle.dumps(x)


def data_of(x):
    return x.data[0, 0].item() > 50


def view_of_data_of(x):
    return bool(x.data.view(-1).detach().mean() > 50)


@pytest.mark.parametrize("look", [data_of, view_of_data_of], ids=lambda look: look.__name__)
def test_a_read_by_data_is_a_read(look):
    with pytest.raises(ExportError, match=r"(of|on) values of the inputs"):
        export(Peeking(look), models.rows(), "torchscript", fresh("data"))
    nothing_left("data")


@pytest.mark.parametrize("to", ["torchscript", "pt2", "onnx"])
@pytest.mark.parametrize(
    "look",
    [text_of, format_of, memory_of, typed_memory_of, address_of, pickle_of],
    ids=lambda look: look.__name__,
)
def test_what_no_export_follows_is_refused_or_in_the_contract(look, to):
    line = look.__code__.co_firstlineno + 1
    try:
        done = export(Peeking(look), models.rows(), to, fresh("peeks"))
    except ExportError:
        return
    assert any(
        text.startswith(f"test_export_truth.py:{line} ") and "for the sample" in text
        for text in done.contract["assumes"]
    ), done.contract["assumes"]


class Scales(nn.Module):
    """Coordinates in pixels, and a score that dropout changes, as columns or as rows of the result."""

    def __init__(self, axis):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(8, 5)
        self.axis = axis

    def forward(self, x):
        y = self.layer(x).sigmoid()
        score = nn.functional.dropout(y[..., 4:] * 0.05, 0.5, training=True)
        return torch.cat([y[..., :4] * 640, score], -1).transpose(-1, self.axis)


@pytest.mark.parametrize("axis", [-1, 1], ids=["last", "first"])
def test_a_column_is_compared_at_its_own_scale(axis):
    with pytest.raises(NotVerified, match="where its scale allows"):
        export(Scales(axis), torch.randn(3, 6, 8), "onnx", fresh("columns"))


class Windows(nn.Module):
    def forward(self, x):
        count = math.ceil(x.shape[1] / 32)
        parts = torch.tensor_split(x, count, 1)
        return torch.cat([part - part.mean(1, keepdim=True) for part in parts], 1)


class Long(nn.Module):
    """Has positions for 40 steps, and no more."""

    def __init__(self):
        super().__init__()
        self.positions = nn.Parameter(torch.randn(40, 8))

    def forward(self, x):
        return x + self.positions[torch.arange(x.shape[1])]


def test_sizes_far_from_the_samples_are_compared():
    x = torch.randn(2, 6, 8)
    with pytest.raises(NotVerified, match="tokens=33"):
        export(Windows(), x, "torchscript", fresh("far"), dynamic={"x": {1: "tokens"}})


def test_a_far_size_that_the_model_does_not_accept_is_told():
    done = export(Long(), torch.randn(2, 6, 8), "onnx", dynamic={"x": {1: "tokens"}})
    assert "tokens=33" in done.contract["parity"]["kinds"]
    assert "IndexError" in done.contract["parity"]["skipped"]["tokens=129"]
