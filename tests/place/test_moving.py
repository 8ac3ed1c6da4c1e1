"""torchport.to, on_device, numpy, device: on two virtual CUDA devices."""

import dataclasses
import inspect
import re
from collections import OrderedDict, UserDict, defaultdict, namedtuple

import numpy as np
import pytest
import torch
import torchport
from torch.nn.utils.rnn import pack_padded_sequence

pytestmark = pytest.mark.devices("cuda:2")


CPU, ONE = torch.device("cpu"), torch.device("cuda:1")
Pair = namedtuple("Pair", "left right")


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    value: torch.Tensor
    inner: list


@dataclasses.dataclass
class Batch:
    ids: torch.Tensor
    size: int = dataclasses.field(init=False)

    def __post_init__(self):
        self.size = len(self.ids)
        self.extra = "kept"


class OwnTo:
    def __init__(self, tensor):
        self.tensor = tensor

    def to(self, device):
        return OwnTo(self.tensor.to(device))


class Encoding(UserDict):
    def to(self, device):
        return Encoding({k: v.to(device) for k, v in self.items()})


def test_containers_keep_their_types_and_order():
    t = torch.arange(3.0)
    whole = {
        "list": [t, (t, 1), "text"],
        "pair": Pair(t, None),
        "ordered": OrderedDict(b=t, a=t),
        "default": defaultdict(list, x=[t]),
        "set": frozenset({1, 2}),
        "size": torch.Size([2, 3]),
        "array": np.zeros(2),
        "own": OwnTo(t),
        "encoding": Encoding(ids=t),
    }
    moved = torchport.to(whole, ONE)
    assert list(moved) == list(whole)
    assert moved["list"][0].device == moved["list"][1][0].device == ONE
    assert type(moved["pair"]) is Pair and moved["pair"].left.device == ONE
    assert type(moved["ordered"]) is OrderedDict and list(moved["ordered"]) == ["b", "a"]
    assert moved["default"].default_factory is list and moved["default"]["x"][0].device == ONE
    assert moved["size"] is whole["size"] and moved["array"] is whole["array"]
    assert moved["own"].tensor.device == ONE and moved["encoding"]["ids"].device == ONE
    assert t.device == CPU and whole["list"][0] is t  # the original is what it was


def test_what_occurs_twice_is_moved_once():
    t = torch.ones(2)
    itself = [t]
    itself.append(itself)
    moved = torchport.to({"a": t, "b": [t], "loop": itself}, ONE)
    assert moved["a"] is moved["b"][0] is moved["loop"][0]
    assert moved["loop"][1] is moved["loop"]


def test_dataclasses_frozen_and_not():
    moved = torchport.to(Frozen(torch.ones(1), [torch.ones(1)]), ONE)
    assert moved.value.device == moved.inner[0].device == ONE
    batch = torchport.to(Batch(torch.ones(4)), ONE)
    assert batch.ids.device == ONE and batch.size == 4 and batch.extra == "kept"


def test_packed_sequences_keep_their_lengths_on_the_cpu():
    packed = pack_padded_sequence(torch.randn(4, 2, 3), torch.tensor([4, 2]))
    moved = torchport.to(packed, ONE)
    assert moved.data.device == ONE and moved.batch_sizes.device == CPU
    lstm = torchport.to(torch.nn.LSTM(3, 5), ONE)
    assert lstm(moved)[0].data.device == ONE


def test_dtype_is_for_floating_point_alone():
    moved = torchport.to([torch.ones(1), torch.ones(1, dtype=torch.long)], "cpu", dtype=torch.half)
    assert [m.dtype for m in moved] == [torch.half, torch.long]


def test_optimizers_go_on_where_their_parameters_are():
    torch.manual_seed(0)
    stay, go = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    go.load_state_dict(stay.state_dict())
    x = torch.randn(5, 3)
    losses = []
    for model in (stay, go):
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        for step in range(4):
            if model is go and step == 2:
                same = [*model.parameters()]
                torchport.to({"model": model, "optimizer": optimizer}, ONE)
                assert all(a is b for a, b in zip(same, model.parameters(), strict=True))
                state = optimizer.state[model.weight]
                assert state["exp_avg"].device == ONE and state["step"].device == CPU
                assert model.weight.grad.device == ONE
            loss = model(torchport.to(x, model.weight.device)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert losses[0] == losses[1]


def test_pinned_memory_does_not_wait(monkeypatch):
    pinned = torch.ones(1000).pin_memory()
    assert torch.equal(torchport.to(pinned, ONE).cpu(), torch.ones(1000))
    seen = []
    real = torch.Tensor.to

    def spy(self, *args, **kwargs):
        seen.append(kwargs.get("non_blocking"))
        return real(self, *args, **kwargs)

    monkeypatch.setattr(torch.Tensor, "to", spy)
    torchport.to([pinned, torch.ones(1)], ONE)
    torchport.to(pinned, ONE, non_blocking=False)
    assert seen == [True, False, False]


def test_functions_get_their_arguments_where_they_run():
    @torchport.on_device(device="cuda:1")
    def add(a, *, b=None):
        """Adds."""
        return a["x"] + b

    assert add({"x": torch.ones(1)}, b=torch.ones(1)).device == ONE
    assert add.__doc__ == "Adds." and list(inspect.signature(add).parameters) == ["a", "b"]

    class Model(torch.nn.Linear):
        @torchport.on_device
        def forward(self, x):
            return super().forward(x)

    model = Model(2, 2).to(ONE)
    assert model(torch.ones(2)).device == ONE and model.weight.device == ONE

    @torchport.on_device
    def to_the_programs_own(x):
        return x.device

    assert to_the_programs_own(torch.ones(1)) == torchport.device() == torch.device("cuda:0")


def test_factories_follow_the_device():
    with torchport.device("mps,cuda:1"):
        assert torch.ones(1).device == torch.nn.Linear(1, 1).weight.device == ONE


def test_arrays_of_any_tensor():
    base = torch.arange(3.0)
    assert torchport.numpy(base).ctypes.data == base.data_ptr()
    on_device = torch.ones(2, device=ONE, requires_grad=True)
    assert torchport.numpy(on_device * 2).tolist() == [2, 2]
    half = torchport.numpy(torch.tensor([1.5, -2], dtype=torch.bfloat16))
    assert half.dtype == np.float32 and half.tolist() == [1.5, -2]
    assert torchport.numpy(torch.tensor([1 + 2j]).conj()).tolist() == [1 - 2j]
    assert torchport.numpy(torch.tensor([1.0], dtype=torch.float8_e4m3fn)).tolist() == [1]
    for tensor, hint in (
        (torch.eye(2).to_sparse(), "to_dense"),
        (torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8), "dequantize"),
        (torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]), "to_padded_tensor"),
    ):
        with pytest.raises(TypeError, match=re.escape(hint)):
            torchport.numpy(tensor)
