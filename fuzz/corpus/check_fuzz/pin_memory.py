from torch.utils.data import DataLoader
from loaders import InfiniteDataLoader

def make(dataset, weighted):
    loader = DataLoader if weighted else InfiniteDataLoader
    return loader(dataset, pin_memory=True)
