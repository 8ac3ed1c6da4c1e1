"""The same odd objects for verify's inventory, adopt, to and loader: they see the same tensors."""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from types import MappingProxyType, SimpleNamespace
from typing import Any

import attrs
import pytest
import torch
import torchport
from torch import nn
from torchport.observe.inventory import held_by, within

pytestmark = pytest.mark.devices("cuda:1")


CUDA = torch.device("cuda:0")
Pair = namedtuple("Pair", "left right")


def t() -> torch.Tensor:
    return torch.ones(1)


@dataclasses.dataclass
class Record:
    value: torch.Tensor
    rest: Any = None


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenRecord:
    value: torch.Tensor


@attrs.define
class AttrsRecord:
    value: torch.Tensor


@attrs.frozen
class FrozenAttrs:
    value: torch.Tensor


class Parent:
    __slots__ = ("__hidden",)

    def __init__(self) -> None:
        self.__hidden = t()


class Slots(Parent):
    __slots__ = ("unset", "value")

    def __init__(self) -> None:
        super().__init__()
        self.value = t()


class Object:
    def __init__(self, value: Any) -> None:
        self.value = value


class Callable_(Object):
    def __call__(self) -> None: ...


class Raises(Object):
    @property
    def value_of_property(self) -> torch.Tensor:
        raise RuntimeError("a property was called")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"{name} was asked for")


class Liar:
    """Its class is another one when asked, and then none at all."""

    def __init__(self) -> None:
        self.value = t()

    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError("asked for its class")


class BrokenMapping(UserDict):
    def items(self) -> Any:
        raise RuntimeError("the file is closed")


def closure() -> Any:
    table = t()
    return lambda x: x + table


def cycle() -> list:
    itself: list = [t()]
    itself.append({"again": itself, "more": [t()]})
    return itself


def deep(count: int, wrap: Any) -> Any:
    value: Any = t()
    for _ in range(count):
        value = wrap(value)
    return value


def shared() -> list:
    one, both = t(), (t(),)
    return [one, [one], both, {"both": both}]


def objects(count: int) -> Any:
    return deep(count, Object)


def keyed() -> dict:
    return {(1, "a"): t(), Object(1): t()}


# name: (what makes it, the number of different tensors in it, of which `to` moves, of which adopt adopts)
ODD: dict[str, tuple[Any, int, int, int]] = {
    "nested lists": (lambda: [[t(), [t()]], []], 2, 2, 2),
    "dicts": (lambda: {"a": {"b": t()}, 3: t()}, 2, 2, 2),
    "odd keys": (keyed, 2, 2, 2),
    "ordered": (lambda: OrderedDict(a=t()), 1, 1, 1),
    "defaultdict": (lambda: defaultdict(list, a=[t()]), 1, 1, 1),
    "user dict": (lambda: UserDict(a=t()), 1, 1, 1),
    "user list": (lambda: UserList([t()]), 1, 1, 1),
    "deque": (lambda: deque([t(), 1, [t()]], maxlen=3), 2, 2, 2),
    "tuple": (lambda: (t(), (1, t())), 2, 2, 2),
    "named tuple": (lambda: Pair(t(), [t()]), 2, 2, 2),
    "dataclass": (lambda: Record(t(), Record(t())), 2, 2, 2),
    "frozen dataclass": (lambda: FrozenRecord(t()), 1, 1, 1),
    "attrs": (lambda: AttrsRecord(t()), 1, 1, 1),
    "frozen attrs": (lambda: [FrozenAttrs(t())], 1, 1, 1),
    "cycle": (cycle, 2, 2, 2),
    "shared": (shared, 2, 2, 2),
    "10,000 lists": (lambda: deep(10_000, lambda v: [v]), 1, 1, 1),
    "10,000 tuples": (lambda: deep(10_000, lambda v: (v,)), 1, 1, 1),
    "10,000 dicts": (lambda: deep(10_000, lambda v: {"k": v}), 1, 1, 1),
    "10,000 dataclasses": (lambda: deep(10_000, Record), 1, 1, 1),
    "sets": (lambda: [{t()}, frozenset({t()})], 2, 2, 0),
    "mapping proxy": (lambda: MappingProxyType({"a": [t()]}), 1, 1, 0),
    "slots": (Slots, 2, 0, 0),
    "object": (lambda: Object([t(), {"a": t()}]), 2, 0, 0),
    "object that is called": (lambda: Callable_(t()), 1, 0, 0),
    "object in an object": (lambda: objects(2), 1, 0, 0),
    "object in an object in an object": (lambda: objects(3), 0, 0, 0),
    "containers in objects": (lambda: deep(100, lambda v: [v])[0] and Object([Object([t()])]), 1, 0, 0),
    "properties that raise": (lambda: Raises(t()), 1, 0, 0),
    "namespace": (lambda: SimpleNamespace(a=t()), 1, 0, 0),
    "distribution": (lambda: torch.distributions.Normal(t(), t()), 2, 0, 0),
    "partial": (lambda: functools.partial(torch.add, t(), other=t()), 2, 0, 0),
    "closure": (closure, 1, 0, 0),
    "a class that lies": (lambda: [Liar()], 1, 0, 0),
    "class objects": (lambda: [Object, len, torch, iter([t()]), (x for x in [t()])], 0, 0, 0),
    "nothing": (lambda: [None, "text", 3, b"", torch.Size([1])], 0, 0, 0),
}  # fmt: skip


class Holder(nn.Module):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.odd = value


def seen_by_loader(value: Any) -> set[int]:
    recorded: set[int] = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "record_stream", lambda self, stream: recorded.add(id(self)))
        for _ in torchport.loader([value], CUDA):
            pass
    return recorded


def on_cuda(value: Any) -> int:
    return len({id(x) for _, x, _ in within("", value) if x.device == CUDA})


@pytest.mark.parametrize("name", ODD)
def test_all_see_the_same_tensors(name: str) -> None:
    make, seen, moved, adopted = ODD[name]
    model = Holder(make())
    held = held_by(model)
    assert len({id(h.tensor) for h in held}) == seen, held
    report = torchport.adopt(model)
    told = {one.name for one in report.adopted} | {name for name, _ in report.left}
    assert told == {h.name for h in held}
    assert len({one.buffer for one in report.adopted}) == adopted, report
    assert all(why for _, why in report.left)
    got = torchport.to(make(), CUDA)
    assert len({id(x) for _, x, _ in within("", got)}) == seen
    assert on_cuda(got) == moved


@pytest.mark.parametrize("name", ODD)
def test_the_loader_sees_what_the_inventory_sees(name: str) -> None:
    make, seen, moved, _ = ODD[name]
    assert len(seen_by_loader(make())) == moved
    already = make()  # objects that the loader leaves as they are, with tensors of the device
    for _, tensor, _ in within("", already):
        tensor.data = tensor.data.to(CUDA)
    assert len(seen_by_loader(already)) == seen


@pytest.mark.parametrize("name", ODD)
def test_what_is_adopted_moves_and_the_program_reads_it(name: str) -> None:
    make, seen, _, adopted = ODD[name]
    model = Holder(make())
    report = torchport.adopt(model)
    model.to(CUDA)
    behind = {h.name for h in held_by(model) if h.tensor.device != CUDA}
    assert behind == {name for name, _ in report.left}
    moved = {id(x) for _, x, _ in within("", model.odd) if x.device == CUDA}
    assert len(moved) == adopted
    assert seen or not report


def test_a_container_whose_code_raises_is_passed_over_and_not_moved_silently() -> None:
    held = [BrokenMapping(a=t()), t()]
    assert [path for path, _, _ in within("x", held)] == ["x[1]"]
    assert [one.name for one in torchport.adopt(Holder(held)).adopted] == ["odd[1]"]
    with pytest.raises(RuntimeError):
        torchport.to(held, CUDA)


def test_what_is_shared_stays_shared() -> None:
    got = torchport.to(shared(), CUDA)
    assert got[0] is got[1][0] and got[2] is got[3]["both"]
    model = Holder(shared())
    torchport.adopt(model)
    model.to(CUDA)
    assert model.odd[0] is model.odd[1][0] and model.odd[2][0] is model.odd[3]["both"][0]
    assert model.odd[2][0].device == CUDA
    round_about = torchport.to(cycle(), CUDA)
    assert round_about[1]["again"] is round_about
    assert torchport.to(deque([t()], maxlen=4), CUDA).maxlen == 4


def test_class_attributes_count_where_they_hold_tensors() -> None:
    class Base(nn.Module):
        inherited = t()
        hidden = t()

    class Model(Base):
        table = t()
        tables = [t()]  # noqa: RUF012
        helper = Object(t())  # no container
        hidden = None

        @property
        def never(self) -> torch.Tensor:
            raise RuntimeError("a property was called")

    model = Model()
    names = ["table", "tables[0]", "inherited"]
    assert [h.name for h in held_by(model)] == names, held_by(model)
    report = torchport.adopt(model)
    assert [one.name for one in report.adopted] == ["table", "inherited"]
    assert [name for name, _ in report.left] == ["tables[0]"]
    assert "all instances share" in report.left[0][1]
    model.to(CUDA)
    assert model.table.device == CUDA and Model.table.device.type == "cpu"


def test_unregistered_modules_are_one_for_adopt_and_their_tensors_for_verify() -> None:
    layer = nn.Linear(2, 2, bias=False)
    layer.table = [t()]
    model = Holder([layer])
    held = held_by(model)
    assert [(h.name, h.unregistered_module) for h in held] == [
        ("odd[0].weight", "odd[0]"),
        ("odd[0].table[0]", "odd[0]"),
    ]
    assert [name for name, _ in torchport.adopt(model).left] == ["odd[0]"]


def test_a_model_that_knows_its_trainer_does_not_show_the_training() -> None:
    model = Holder(None)
    trainer = Object([Object(Object(t()))])
    trainer.model, trainer.optimizer = model, torch.optim.SGD([nn.Parameter(t())], 0.1)
    model.odd = trainer
    assert held_by(model) == []


def test_the_retry_on_the_cpu_moves_what_to_moves() -> None:
    @torchport.retry_on_cpu
    def add(record: Record) -> Record:
        if record.value.device != torch.device("cpu"):
            raise NotImplementedError(
                "Could not run 'aten::add' with arguments from the 'CUDA' backend"
            )
        return Record(record.value + 1, deque([record.rest]))

    got = add(Record(t().to(CUDA), t().to(CUDA)))
    assert got.value.device == CUDA and got.rest[0].device == CUDA
