"""Pinned memory by hand and by the loader, and a collate function."""

import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return torch.tensor([float(index)]), index % 2


def collate(items):
    xs, ys = zip(*items)
    return torch.stack(xs), torch.tensor(ys)


options = {"batch_size": 3, "collate_fn": collate}
train = DataLoader(Numbers(), pin_memory=True, **options)
test = DataLoader(Numbers(), batch_size=2, pin_memory=True, num_workers=0)
total = 0.0
for x, y in train:
    x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
    total += (x.squeeze(1) * y).sum().item()
for x, y in test:
    total += x.cuda().sum().item()
held = torch.arange(4).float().pin_memory()
print(total, held.cuda(non_blocking=True).sum().item())
