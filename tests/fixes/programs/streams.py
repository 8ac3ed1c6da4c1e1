"""A prefetcher that copies on its own stream."""

import torch


class Prefetcher:
    def __init__(self, loader):
        self.loader = iter(loader)
        self.stream = torch.cuda.Stream()
        self.preload()

    def preload(self):
        try:
            self.next = next(self.loader)
        except StopIteration:
            self.next = None
            return
        with torch.cuda.stream(self.stream):
            self.next = self.next.cuda(non_blocking=True)

    def get(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.next
        if batch is not None:
            batch.record_stream(torch.cuda.current_stream())
            self.preload()
        return batch


prefetcher = Prefetcher([torch.full((2,), float(i)) for i in range(3)])
total = 0.0
batch = prefetcher.get()
while batch is not None:
    total += batch.sum().item()
    batch = prefetcher.get()
print(total)
