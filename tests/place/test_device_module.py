"""torchport.DeviceModule: its device can be set, containers move, assignments follow."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import pytest
import torch
import torchport
from torch import nn

pytestmark = pytest.mark.devices("cuda:2")

CUDA = torch.device("cuda:0")


@dataclass
class Cache:
    keys: torch.Tensor
    name: str = ""


class Holder(torchport.DeviceModule):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.masks = [torch.ones(2), (torch.zeros(3), "text")]
        self.pair = (torch.ones(1), 2)
        self.table = {"a": {"b": torch.ones(2, dtype=torch.int64)}}
        self.cache = Cache(torch.ones(2))


def places(module):
    return {
        module.masks[0].device,
        module.masks[1][0].device,
        module.pair[0].device,
        module.table["a"]["b"].device,
        module.cache.keys.device,
    }


def test_the_device_can_be_set() -> None:
    module = Holder()
    module.device = "cuda"
    assert module.device == module.linear.weight.device == CUDA and places(module) == {CUDA}
    module.device = torch.device("cuda:1")
    assert places(module) == {torch.device("cuda:1")}
    module.device = "cpu"
    assert places(module) == {torch.device("cpu")}
    with pytest.raises(ValueError, match="toaster"):
        module.device = "toaster"


def test_containers_move_as_part_of_another_module() -> None:
    holder = Holder()
    masks, table = holder.masks, holder.table
    nn.Sequential(holder).to("cuda")
    assert places(holder) == {CUDA}
    assert holder.masks is masks and holder.table is table, "the program may hold them, too"
    assert holder.masks[1][1] == "text" and holder.pair[1] == 2
    holder.half()
    assert holder.masks[0].dtype == torch.float16 and holder.table["a"]["b"].dtype == torch.int64
    assert list(holder.state_dict()) == ["linear.weight", "linear.bias"]


def test_containers_may_change() -> None:
    module = Holder()
    module.masks.append(torch.ones(4))
    module.masks[0] = torch.full((2,), 3.0)
    module.to("cuda")
    assert module.masks[2].device == CUDA and module.masks[0].tolist() == [3.0, 3.0]


def test_what_is_assigned_after_a_move_follows() -> None:
    module = Holder().to("cuda")
    module.fresh = torch.ones(3)
    module.fresh = torch.zeros(3)
    module.late = [torch.ones(1)]
    weight = nn.Parameter(torch.ones(2))
    module.weight = weight
    module.head = nn.Linear(2, 2)
    module.elsewhere = nn.Linear(2, 2).to("cuda:1")
    assert module.fresh.device == module.late[0].device == module.head.weight.device == CUDA
    assert module.weight is weight and weight.device == CUDA
    assert module.elsewhere.weight.device == torch.device("cuda:1"), "it was put there"
    assert "fresh" in dict(module.named_buffers())
    other = copy.deepcopy(module)
    other.more = torch.ones(2)
    assert other.more.device == CUDA
    result = (module.linear.weight * 2).cpu()
    module.result = result
    module.results = [result]
    assert module.result is module.results[0] is result, "a result of autograd stays"


def test_before_a_move_everything_stays_where_it_was_made() -> None:
    module = Holder()
    module.there = torch.ones(2, device="cuda:1")
    module.double()
    module.also = torch.ones(2, device="cuda:1")
    assert module.there.device == module.also.device == torch.device("cuda:1")


def test_meta_keeps_data() -> None:
    module = Holder().to("meta")
    module.fresh = torch.ones(2)
    assert module.fresh.tolist() == [1, 1]
    module.to_empty(device="cuda")
    assert places(module) == {CUDA}


def test_shared_tensors_stay_shared() -> None:
    module = Holder()
    module.mask = torch.ones(2)
    module.both = [module.mask, module.linear.weight, module.linear.weight[:1].detach()]
    module.same = [module.masks[0], module.masks[0]]
    module.to("cuda")
    assert module.both[0] is module.mask and module.both[1] is module.linear.weight
    assert module.both[2].device.type == "cpu", "a view would be separated from its tensor"
    assert module.same[0] is module.same[1] and module.same[0].device == CUDA


def test_lazy_and_other_layouts_move() -> None:
    module = Holder()
    module.lazy = nn.LazyLinear(3)
    module.sparse = [torch.eye(3).to_sparse()]
    module.device = "cuda"
    assert module.lazy.weight.device == module.sparse[0].device == CUDA
    assert module.lazy(torch.ones(2, 4, device="cuda")).shape == (2, 3)


def test_a_module_in_a_list_and_a_parent_stay() -> None:
    parent, child = Holder(), Holder()
    child.parent = [parent]
    parent.child = child
    parent.to("cuda")
    assert places(child) == {CUDA} and child.parent == [parent]
    hidden = Holder()
    hidden.teacher = [nn.Linear(2, 2)]
    hidden.to("cuda")
    assert hidden.teacher[0].weight.device.type == "cpu"
    assert "unregistered" in {one.kind for one in torchport.check_module(hidden)}
