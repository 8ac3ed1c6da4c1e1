"""Which of equal elements sort, topk, kthvalue, mode and median choose: the answers of an NVIDIA H200, torch 2.11."""

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:1")


def values(*size, dtype=torch.float32):
    count = torch.Size(size).numel()
    return (torch.arange(count) * 7919 % 13).reshape(size).to("cuda", dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.uint8])
def test_small_sorts_are_a_network(dtype):
    found = values(20, dtype=dtype).sort()
    wanted = [0, 13, 7, 14, 1, 8, 15, 2, 9, 16, 3, 10, 4, 17, 11, 18, 5, 12, 6, 19]
    assert found.indices.tolist() == wanted
    assert found.values.equal(values(20, dtype=dtype)[found.indices])
    stable = values(20, dtype=dtype).sort(stable=True).indices.tolist()
    assert stable[:3] == [0, 13, 7] and stable[3:5] == [1, 14]


def test_larger_sorts_keep_the_order():
    x = values(3, 40)
    for descending in (False, True):
        found = x.sort(descending=descending).indices
        assert found.equal(x.sort(descending=descending, stable=True).indices)
    assert values(70, 1100).sort(0).indices[0, :3].tolist() == [
        column.sort(stable=True).indices[0].item() for column in values(70, 1100).T[:3]
    ]


@pytest.mark.parametrize("count", [1000, 5000, 100_000])
def test_topk(count):
    x = values(count)
    places = [6, 19, 32, 45, 58, 71, 84, 97, 110, 123, 136, 149, 162, 175, 188, 201, 214]
    assert x.topk(17, sorted=False).indices.tolist() == places
    order = [214, 84, 58, 71, 19, 6, 32, 45, 149, 136, 110, 123, 175, 162, 188, 201, 97]
    assert x.topk(17).indices.tolist() == order
    assert x.topk(3).indices.tolist() == [32, 19, 6]
    smallest = [208, 78, 52, 65, 13, 0, 26, 39, 143, 130, 104, 117, 169, 156, 182, 195, 91]
    assert x.topk(17, largest=False).indices.tolist() == smallest


def test_topk_of_few():
    x = values(20)
    first = [2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 15, 16, 17, 18, 19, 1, 14]
    assert x.topk(17, sorted=False).indices.tolist() == first
    found = torch.topk(torch.tensor([1.0, float("nan"), 3.0, float("nan"), 2.0], device="cuda"), 3)
    assert found.indices.tolist() == [3, 1, 2]


def test_layouts_and_out():
    x = values(6, 5, 7)
    wanted = torch.stack([values(6, 5, 7)[:, i].contiguous().sort(0).indices for i in range(5)], 1)
    assert x.sort(0).indices.equal(wanted)
    strided = x.transpose(0, 2)
    assert strided.sort(2).indices.equal(x.sort(0).indices.transpose(0, 2))
    into, places = torch.empty(0, device="cuda"), torch.empty(0, device="cuda", dtype=torch.int64)
    torch.sort(x, 0, out=(into, places))
    assert places.equal(x.sort(0).indices) and into.equal(x.sort(0).values)
    torch.topk(x, 2, 1, out=(into, places))
    assert places.equal(x.topk(2, 1).indices) and into.shape == (6, 2, 7)
    torch.kthvalue(x, 3, 1, keepdim=True, out=(into, places))
    assert places.shape == (6, 1, 7) and into.equal(x.gather(1, places))


def test_kthvalue_is_the_first():
    x = values(1000)
    assert x.kthvalue(9).indices.item() == 0
    assert torch.kthvalue(torch.tensor([2, 1, 1, 2, 1], device="cuda"), 2).indices.item() == 1
    nan = torch.tensor([1.0, float("nan"), float("nan")], device="cuda")
    assert nan.kthvalue(3).indices.item() == 1


def test_scalars_and_nothing():
    scalar = torch.tensor(3.0, device="cuda")
    assert scalar.sort().indices.item() == 0 and scalar.topk(1).indices.item() == 0
    assert scalar.kthvalue(1).indices.item() == 0
    empty = torch.empty(0, 4, device="cuda")
    assert empty.sort().indices.shape == (0, 4) and empty.topk(2).indices.shape == (0, 2)
    assert torch.empty(3, 0, device="cuda").sort(1).values.shape == (3, 0)
    assert torch.ones(3, device="cuda").topk(0).values.shape == (0,)


def test_gradients_follow_the_indices():
    x = values(20).requires_grad_()
    top = x.topk(3)
    top.values.sum().backward()
    assert x.grad.nonzero().flatten().tolist() == sorted(top.indices.tolist())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.uint8])
def test_mode(dtype):
    """Of equally frequent values: that which a tree of threads keeps; the smallest of large rows."""
    for size, index in {(20,): 13, (1000,): 991, (2048,): 2043, (5000,): 0, (100_000,): 0}.items():
        x = values(*size, dtype=dtype)
        found = x.mode()
        assert found.indices.item() == index and found.values == x[index]
    assert values(3, 40, dtype=dtype).mode().indices.tolist() == [39, 39, 39]
    found = values(70, 1100, dtype=dtype).mode().indices.tolist()
    assert found[:8] == [1099, 1094, 1096, 1096, 1093, 1098, 1093, 1095]
    assert values(5, 9000, dtype=dtype).mode().indices.tolist() == [0, 3, 0, 1, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.uint8])
def test_median_is_the_first_of_the_upper_half_of_a_warp(dtype):
    assert values(20, dtype=dtype).median(-1).indices.item() == 16
    for median in (torch.median, torch.nanmedian):
        x = values(3, 40, dtype=dtype)
        assert median(x, 1).indices.tolist() == [16, 28, 27]
        assert median(x.T.contiguous(), 0, keepdim=True).indices.tolist() == [[16, 28, 27]]


def test_mode_and_median_of_other_forms():
    x = torch.tensor([[1.0, 2, 1, 2, 3], [5, float("nan"), 4, 5, 0]], device="cuda")
    into = torch.empty(0, device="cuda"), torch.empty(0, device="cuda", dtype=torch.int64)
    torch.mode(x, 1, out=into)
    assert [t.tolist() for t in into] == [[1, 5], [2, 3]]
    torch.median(x, -1, out=into)
    assert into[0][0] == 2 and into[0][1].isnan() and into[1].tolist() == [1, 1]
    torch.nanmedian(x, 1, out=into)
    assert [t.tolist() for t in into] == [[2, 4], [1, 2]]
    assert torch.mode(x[:, :1], 1).indices.tolist() == [0, 0]
    assert torch.tensor([True, False], device="cuda").mode() == (False, 1)
    y = x[0].clone().requires_grad_()
    y.median(0).values.backward()
    assert y.grad.tolist() == [0, 1, 0, 0, 0]
    with pytest.raises(IndexError):
        x.mode(2)
    with pytest.raises(IndexError):
        x.median(2)
