"""Tensors on devices in more than one process: queues, data loaders, forks."""

import os
import re

import pytest
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Dataset, TensorDataset

FORKED = "Cannot re-initialize CUDA in forked subprocess"


def receive(tensors, answers, may_end):
    whole, part = tensors.get(), tensors.get()
    answers.put((str(whole.device), whole.tolist(), torch.cuda.memory_allocated(1)))
    assert part.data_ptr() - whole.data_ptr() == 8
    whole.add_(1)
    answers.put(torch.full((2, 2), 5.0, device="cuda:0"))
    may_end.wait()


class OnDevice(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return torch.ones(1, device="cuda")


def main():
    context = mp.get_context("spawn")
    tensors, answers, may_end = context.Queue(), context.Queue(), context.Event()
    x = torch.arange(3.0, device="cuda:1")
    child = context.Process(target=receive, args=(tensors, answers, may_end))
    child.start()
    tensors.put(x)
    tensors.put(x[2:])
    # The receiver is not charged for what it maps.
    assert answers.get() == ("cuda:1", [0.0, 1.0, 2.0], 0)
    made = answers.get()
    assert (str(made.device), made.sum().item()) == ("cuda:0", 20.0)
    assert x.tolist() == [1.0, 2.0, 3.0]  # written by the other process
    del made
    may_end.set()
    child.join()
    assert child.exitcode == 0

    data = TensorDataset(torch.arange(8.0).view(8, 1), torch.arange(8))
    for start in ("fork", "spawn"):
        loader = DataLoader(
            data, batch_size=4, num_workers=1, pin_memory=True, multiprocessing_context=start
        )
        for batch, _ in loader:
            assert batch.is_pinned() and batch.cuda(non_blocking=True).is_cuda
    with pytest.raises(RuntimeError, match=re.escape(FORKED)):
        list(DataLoader(OnDevice(), num_workers=1))

    pid = os.fork()
    if pid == 0:
        with pytest.raises(RuntimeError, match=re.escape(FORKED)):
            torch.zeros(1).cuda()
        with pytest.raises(RuntimeError, match=re.escape(FORKED)):
            torch.zeros(1, device="cuda")
        assert not torch.cuda.is_initialized()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


if __name__ == "__main__":
    main()
