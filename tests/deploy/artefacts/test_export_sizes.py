"""A model that goes another way for other sizes: no artefact is called right for sizes at which it is wrong."""

from __future__ import annotations

import bisect
import math
from types import SimpleNamespace

import pytest
import torch
import torchport
from test_export import fresh, nothing_left
from torch import nn
from torchport import ExportError, NotVerified

pytestmark = [pytest.mark.devices(None, timeout=600), pytest.mark.usefixtures("own_folder")]

MOST = 1000


def of_a_constant(self, x):
    return x * 2 if x.shape[0] > 248 else x


def of_len(self, x):
    return x * 2 if len(x) >= 300 else x


def of_an_int(self, x):
    n = int(x.shape[0])
    return x * 2 if n > 248 else x


def of_a_configuration(self, x):
    config = self.config
    return x * 2 if x.size(0) > config.most else x


def of_a_dict(self, x):
    most = self.table["most"]
    return x * 2 if x.shape[0] > most else x


def of_a_global(self, x):
    return x * 2 if x.shape[0] > MOST else x


def of_a_product(self, x):
    return x * 2 if x.shape[0] * 4 > 4000 else x


def of_a_quotient(self, x):
    return x * 2 if x.shape[0] // 16 > 20 else x


def of_some(self, x):
    return x * 2 if x.shape[0] in (250, 260) else x


def of_parts(self, x):
    return torch.cat([part * (i + 1) for i, part in enumerate(x.split(256))])


def of_windows(self, x):
    return torch.cat([x[at : at + 256] - x[at] for at in range(0, x.shape[0], 256)])


def limited(n):
    return n > 300


def in_a_function(self, x):
    return x * 2 if limited(x.shape[0]) else x


SQUARES = {k * k: 1.0 / k for k in range(14, 40)}
SOME = {250, 300}
LADDER = [8, 300, 600]


def got(self, x):
    return x.cumsum(1) * SQUARES.get(x.shape[0], 1.0)


def in_a_mapping(self, x):
    n = int(x.shape[0])
    return x * SQUARES[n] if n in SQUARES else x


def in_a_set(self, x):
    return x * 2 if int(x.shape[0]) in SOME else x


def by_a_ladder(self, x):
    return x * bisect.bisect(LADDER, x.shape[0])


def by_whole_parts(self, x):
    return x * math.ceil(x.shape[0] / 300)


def of_another_tensor(self, x):
    return x * 2 if x.shape[0] > self.most.numel() else x


def of_another_tensors_rows(self, x):
    most = self.most
    return x * 2 if len(x) > most.shape[0] else x


WRONG = [
    *(got, in_a_mapping, in_a_set, by_a_ladder, by_whole_parts),
    *(of_another_tensor, of_another_tensors_rows),
    *(of_a_constant, of_len, of_an_int, of_a_configuration, of_a_dict, of_a_global, of_a_product),
    *(of_a_quotient, of_some, of_parts, of_windows, in_a_function),
]


class Model(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.config = SimpleNamespace(most=250)
        self.table = {"most": 270}
        self.register_buffer("most", torch.ones(150))
        self.layer = nn.Linear(3, 3)
        self.function = function

    def limit(self):
        return 400

    def forward(self, x):
        return self.function(self, self.layer(x))


def export(function, to, path, **more):
    return torchport.export(Model(function).eval(), torch.randn(4, 3), to=to, path=path, **more)


@pytest.mark.parametrize("function", WRONG, ids=lambda one: one.__name__)
def test_a_trace_is_compared_on_both_sides_of_each_number(function):
    with pytest.raises((NotVerified, ExportError)) as refused:
        export(function, "torchscript", fresh("size"), dynamic="batch")
    assert "output on x [" in str(refused.value) or "artefact fails on x [" in str(refused.value)
    nothing_left("size")


def test_by_default_its_shapes_are_fixed():
    done = export(of_a_constant, "torchscript", fresh("fixed"))
    assert any("the shapes are fixed" in note for note in done.notes), done.notes
    assert done.contract["inputs"][0]["shape"] == [4, 3]


@pytest.mark.parametrize("to", ["pt2", "onnx"])
def test_a_graph_has_the_range_of_its_way(to):
    done = export(of_a_constant, to, fresh("graph"), dynamic="batch")
    assert done.contract["axes"]["batch"]["maximum"] == 248
    assert "batch=248" in done.contract["parity"]["kinds"]
    assert any("at most 248" in note for note in done.notes)


def test_sizes_that_are_too_large_to_be_tried_are_refused():
    def far(self, x):
        return x * 2 if x.shape[0] > 10_000_000 else x

    done = export(far, "torchscript", fresh("large"), dynamic="batch")
    assert done.contract["axes"]["batch"]["maximum"] == 9_999_998
    assert any("compares with 10000000" in note and ".py:" in note for note in done.notes)


def test_sizes_beyond_those_that_were_compared_are_refused_if_the_number_is_not_known():
    def called(self, x):
        return x * 2 if x.shape[0] > self.limit() else x

    done = export(called, "torchscript", fresh("unknown"), dynamic="batch")
    assert done.contract["axes"]["batch"]["maximum"] == 129
    assert any("the largest size that was compared" in note for note in done.notes)


def by_bits(self, x):
    return x * 2 if int(x.shape[0]).bit_count() >= 8 else x


def by_many_bits(self, x):
    n = int(x.shape[0])
    return x * 2 if n.bit_length() >= 12 else x


def by_an_unknown_ladder(self, x):
    return x * 2 if bisect.bisect([2**k for k in range(2, 40)], int(x.shape[0])) > 9 else x


def by_an_unknown_part(self, x):
    return x * math.ceil(x.shape[0] / int("1500"))


def by_a_hash(self, x):
    return x * 2 if hash(int(x.shape[0])) == int("1500") else x


def by_a_text(self, x):
    return x * 2 if len(str(int(x.shape[0]))) > 3 else x


def by_another_text(self, x):
    n = int(x.shape[0])
    return x * 2 if f"{n}" == "1500" else x


@pytest.mark.parametrize(
    "function",
    [
        by_bits,
        by_many_bits,
        by_an_unknown_ladder,
        by_an_unknown_part,
        by_a_hash,
        by_a_text,
        by_another_text,
    ],
    ids=lambda one: one.__name__,
)
def test_what_a_trace_cannot_follow_ends_an_axis_at_the_largest_size_that_was_compared(function):
    done = export(function, "torchscript", fresh("followed"), dynamic="batch")
    most = done.contract["axes"]["batch"]["maximum"]
    assert most is not None and most <= 1100
    assert any("the largest size that was compared" in note for note in done.notes), done.notes


def test_sizes_in_messages_end_no_axis():
    def checked(self, x):
        if x.shape[1] != 3:
            raise ValueError(f"3 columns, not {x.shape[1]}, of {x.shape[0]!s}")
        assert x.shape[1] == 3, f"{x.shape}"
        return x * self.table["most"] / math.sqrt(x.shape[1])

    done = export(checked, "torchscript", fresh("message"), dynamic="batch")
    assert done.contract["axes"]["batch"]["maximum"] is None


def test_the_same_on_both_sides_is_right():
    def padded(self, x):
        return x + 1 if x.shape[0] > 248 else x - -1

    done = export(padded, "torchscript", fresh("same"), dynamic="batch")
    assert {"batch=247", "batch=248", "batch=249"} <= set(done.contract["parity"]["kinds"])
    assert done.contract["axes"]["batch"]["maximum"] is None


def test_a_script_keeps_both_ways():
    class Script(nn.Module):
        def forward(self, x):
            return x * 2 if x.shape[0] > 248 else x

    done = torchport.export(
        Script().eval(), torch.randn(4, 3), to="torchscript", path=fresh("both"), script=True
    )
    assert done.contract["axes"]["batch"]["maximum"] is None
