"""torchport.loader over data that is on a device already."""

from __future__ import annotations

import pytest
import torch
import torchport
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset

pytestmark = pytest.mark.devices("cuda:2")

CUDA = torch.device("cuda:0")


class Held(Dataset):
    """A dataset of the program that keeps its data on the device."""

    def __init__(self):
        self.rows = {"x": [torch.full((2,), float(i), device=CUDA) for i in range(4)]}

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.rows["x"][index]


class Made(Held):
    """A dataset that makes its data on the device."""

    def __init__(self):
        pass

    def __getitem__(self, index):
        return torch.full((2,), float(index), device=CUDA)


def tensors():
    return TensorDataset(torch.arange(8.0, device=CUDA).view(4, 2), torch.arange(4))


DATASETS = {
    "tensors": tensors,
    "subset": lambda: Subset(tensors(), [0, 1, 2, 3]),
    "several": lambda: ConcatDataset([Subset(tensors(), [0, 1]), Subset(tensors(), [2, 3])]),
    "held": Held,
}


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("device", ["cuda:0", "cuda:1", "cpu"])
def test_data_on_a_device_is_not_pinned(name, device) -> None:
    data = DataLoader(DATASETS[name](), batch_size=2, pin_memory=True)
    batches = list(torchport.loader(data, device))
    assert data.pin_memory, "the program's own loader is as it was"
    first = [batch[0] if isinstance(batch, list) else batch for batch in batches]
    assert {tensor.device for tensor in first} == {torch.device(device)}
    plain = DataLoader(DATASETS[name](), batch_size=2)
    for got, want in zip(batches, plain, strict=True):
        for one, other in zip(got, want, strict=True):
            assert torch.equal(one.cpu(), other.cpu()) and one.device == torch.device(device)


def test_what_is_there_is_not_copied() -> None:
    batch = {"x": torch.ones(2, device=CUDA)}
    (got,) = torchport.loader([batch], CUDA)
    assert got["x"] is batch["x"]
    mixed = {"x": torch.ones(2, device=CUDA), "y": torch.ones(2)}
    (got,) = torchport.loader([mixed], CUDA)
    assert got["x"] is mixed["x"] and got["y"].device == CUDA


def test_a_dataset_that_makes_tensors_on_the_device() -> None:
    (batch, _) = torchport.loader(DataLoader(Made(), batch_size=2), CUDA)
    assert batch.device == CUDA
    with pytest.raises(RuntimeError, match="set pin_memory=False in the DataLoader"):
        list(torchport.loader(DataLoader(Made(), batch_size=2, pin_memory=True), CUDA))


def test_workers_cannot_use_the_device() -> None:
    data = DataLoader(Made(), batch_size=2, num_workers=1)
    with pytest.raises(RuntimeError, match=r"a forked worker cannot.*num_workers=0"):
        list(torchport.loader(data, CUDA))
    assert len(list(torchport.loader(DataLoader(tensors(), batch_size=2), CUDA))) == 2


def test_other_errors_of_a_dataset_are_its_own() -> None:
    class Broken(Made):
        def __getitem__(self, index):
            raise ValueError("row 3 is damaged")

    with pytest.raises(ValueError, match="row 3 is damaged"):
        list(torchport.loader(DataLoader(Broken()), CUDA))
