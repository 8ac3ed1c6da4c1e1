"""Memory that is copied on write: shared until one of its tensors is written."""

from __future__ import annotations

import pytest
import torch

pytestmark = pytest.mark.devices("cuda:2")

MIB = 1 << 20


def lazy_pair(device: str = "cuda:0") -> tuple[torch.Tensor, torch.Tensor]:
    original = torch.arange(MIB, dtype=torch.float32, device=device)
    return original, torch._lazy_clone(original)


def is_lazy(*tensors: torch.Tensor) -> list[bool]:
    return [torch._C._is_cow_tensor(tensor) for tensor in tensors]


def test_a_lazy_clone_takes_memory_when_it_is_written() -> None:
    original, clone = lazy_pair()
    before = torch.cuda.memory_allocated()
    assert is_lazy(original, clone) == [True, True]
    assert torch._C._data_address(original) == torch._C._data_address(clone)
    clone.add_(1)
    assert torch.cuda.memory_allocated() == before + 4 * MIB
    assert is_lazy(original, clone) == [True, False]
    assert torch.equal(original + 1, clone)


def test_the_last_one_keeps_the_memory() -> None:
    original, clone = lazy_pair()
    before = torch.cuda.memory_allocated()
    del clone
    original.mul_(2)
    assert is_lazy(original) == [False]
    assert torch.cuda.memory_allocated() == before
    assert original[3].item() == 6
    original.resize_(2 * MIB)
    del original
    assert torch.cuda.memory_allocated() == before - 4 * MIB


def test_reading_shares_the_memory() -> None:
    original, clone = lazy_pair()
    assert (original + clone)[5].item() == 10
    assert clone.view(2, -1).sum().item() == original.sum().item()
    assert clone[3:5].tolist() == [3, 4]
    assert is_lazy(original, clone, clone.view(-1)) == [True, True, True]


def test_views_of_a_written_tensor_see_what_was_written() -> None:
    original, clone = lazy_pair()
    view = clone[:4]
    torch.mul(clone, clone, out=clone)
    assert view.tolist() == [0, 1, 4, 9]
    assert original[:4].tolist() == [0, 1, 2, 3]
    view.add_(clone[4:8])
    assert clone[:4].tolist() == [16, 26, 40, 58]


def test_out_and_lists_of_tensors_are_written_to_memory_of_their_own() -> None:
    original, clone = lazy_pair()
    torch.mul(clone, 3, out=clone)
    second = torch._lazy_clone(clone)
    torch._foreach_add_([second], 1)
    torch.cuda.manual_seed(0)
    third = torch._lazy_clone(clone)
    third.normal_()
    assert [t[2].item() for t in (original, clone, second)] == [2, 6, 7]
    assert third[2].item() not in (2, 6, 7)


def test_an_address_is_that_of_memory_of_its_own() -> None:
    original, clone = lazy_pair()
    assert original.data_ptr() != clone.data_ptr()
    assert is_lazy(original, clone) == [False, False]
    assert torch.equal(original, clone)


def test_clones_of_clones_on_another_device() -> None:
    original, clone = lazy_pair("cuda:1")
    again = torch._lazy_clone(clone)
    again[0] = 7
    assert torch.cuda.memory_allocated(1) >= 8 * MIB
    clone.zero_()
    assert [original[0].item(), again[0].item(), clone[5].item()] == [0, 7, 0]
    assert {t.device.index for t in (original, clone, again)} == {1}


def test_a_tensor_without_bytes_is_cloned() -> None:
    empty = torch.empty(0, device="cuda")
    clone = torch._lazy_clone(empty)
    assert clone.shape == (0,) and torch._C._data_address(clone) == 0
    assert all(torch._C._is_cow_tensor(t) for t in (empty, clone))
    clone.add_(1)  # the first write gives it memory of its own, which is none
    assert not torch._C._is_cow_tensor(clone) and torch._C._is_cow_tensor(empty)
    clone.resize_(3).fill_(2)
    again = torch._lazy_clone(torch._lazy_clone(empty))
    assert clone.tolist() == [2.0] * 3 and again.numel() == 0 == empty.numel()


def test_gradients_pass() -> None:
    x = torch.ones(3, device="cuda", requires_grad=True)
    (torch._lazy_clone(x) * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize("training", [True, False])
def test_running_statistics_are_written_in_training_only(training: bool) -> None:
    mean, var = torch.zeros(3, device="cuda"), torch.ones(3, device="cuda")
    copy = torch._lazy_clone(mean)
    torch.nn.functional.batch_norm(torch.randn(8, 3, device="cuda"), copy, var, training=training)
    assert mean.tolist() == [0, 0, 0]
    assert (copy.tolist() == [0, 0, 0]) == (not training)
    assert torch._C._is_cow_tensor(copy) == (not training)


def test_without_memory_for_a_copy_it_stays_shared() -> None:
    base = torch.ones(12 << 20, device="cuda")
    clone = torch._lazy_clone(base)
    torch.cuda.set_per_process_memory_fraction(0.0008)  # 65 MiB of 80 GiB
    try:
        with pytest.raises(torch.OutOfMemoryError):
            clone.add_(1)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    clone.add_(1)
    assert (base[0].item(), clone[0].item()) == (1.0, 2.0)
