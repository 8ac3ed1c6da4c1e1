"""Synthetic surface images: clean, scratch, spot, stain.

The real line images are not public, so the loader draws look-alikes with
numpy. The same seed always gives the same images.
"""
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.sampler import WeightedRandomSampler

CLASSES = ["clean", "scratch", "spot", "stain"]
IMAGE_SIZE = 48


def _background(rng, size):
    yy, xx = np.mgrid[0:size, 0:size].astype(np.float32) / size
    angle = rng.uniform(0, np.pi)
    freq = rng.uniform(10.0, 16.0)
    grain = np.sin(2 * np.pi * freq * (xx * np.cos(angle) + yy * np.sin(angle)))
    light = 0.15 * (xx * rng.uniform(-1, 1) + yy * rng.uniform(-1, 1))
    noise = rng.normal(0, 0.06, (size, size))
    return 0.5 + 0.04 * grain + light + noise


def _scratch(rng, img):
    size = img.shape[0]
    yy, xx = np.mgrid[0:size, 0:size].astype(np.float32)
    angle = rng.uniform(0, np.pi)
    cx, cy = rng.uniform(0.3 * size, 0.7 * size, 2)
    across = np.abs((xx - cx) * np.sin(angle) - (yy - cy) * np.cos(angle))
    along = np.abs((xx - cx) * np.cos(angle) + (yy - cy) * np.sin(angle))
    line = (across < rng.uniform(0.8, 1.4)) & (along < rng.uniform(10, 20))
    return img + rng.uniform(0.12, 0.3) * line


def _spot(rng, img):
    size = img.shape[0]
    yy, xx = np.mgrid[0:size, 0:size].astype(np.float32)
    for _ in range(rng.randint(1, 4)):
        cx, cy = rng.uniform(0.15 * size, 0.85 * size, 2)
        r = rng.uniform(1.5, 3.0)
        img = img - rng.uniform(0.15, 0.35) * np.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / (2 * r * r))
    return img


def _stain(rng, img):
    size = img.shape[0]
    yy, xx = np.mgrid[0:size, 0:size].astype(np.float32)
    cx, cy = rng.uniform(0.3 * size, 0.7 * size, 2)
    rx, ry = rng.uniform(8, 14, 2)
    inside = ((xx - cx) / rx) ** 2 + ((yy - cy) / ry) ** 2 < 1
    return img - rng.uniform(0.05, 0.12) * inside


_DRAW = {1: _scratch, 2: _spot, 3: _stain}


class DefectDataset(Dataset):
    def __init__(self, n, seed=0, size=IMAGE_SIZE, augment=False):
        rng = np.random.RandomState(seed)
        # half of the pieces on the line are clean
        probs = [0.4, 0.2, 0.2, 0.2]
        labels = rng.choice(len(CLASSES), n, p=probs)
        images = np.empty((n, 1, size, size), dtype=np.float32)
        for i, label in enumerate(labels):
            img = _background(rng, size)
            if label in _DRAW:
                img = _DRAW[label](rng, img)
            images[i, 0] = np.clip(img, 0, 1)
        self.images = torch.from_numpy(images)
        self.labels = torch.from_numpy(labels.astype(np.int64))
        self.augment = augment

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        img = self.images[index]
        if self.augment:
            if np.random.rand() < 0.5:
                img = img.flip(-1)
            if np.random.rand() < 0.5:
                img = img.flip(-2)
        return img, int(self.labels[index])

    def class_counts(self):
        # labels never leave the host, numpy is fine here
        return np.bincount(self.labels.numpy(), minlength=len(CLASSES))


def cuda_collate(batch):
    """Collate straight onto the GPU, saves a copy in the validation loop."""
    images = torch.stack([b[0] for b in batch]).cuda()
    labels = torch.LongTensor([b[1] for b in batch]).cuda()
    return images, labels


class DataPrefetcher(object):
    """Copies the next batch on a side stream while the current one trains."""

    def __init__(self, loader):
        self.loader = iter(loader)
        self.stream = torch.cuda.Stream()
        self.preload()

    def preload(self):
        try:
            self.next_input, self.next_target = next(self.loader)
        except StopIteration:
            self.next_input = None
            self.next_target = None
            return
        with torch.cuda.stream(self.stream):
            self.next_input = self.next_input.cuda(non_blocking=True)
            self.next_target = self.next_target.cuda(non_blocking=True)

    def __iter__(self):
        return self

    def __next__(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        images, target = self.next_input, self.next_target
        if images is None:
            raise StopIteration
        self.preload()
        return images, target


def build_sampler(dataset):
    counts = dataset.class_counts()
    weights = 1.0 / np.maximum(counts, 1)
    per_sample = torch.from_numpy(weights[dataset.labels.numpy()])
    return WeightedRandomSampler(per_sample, len(dataset))


def get_loaders(args):
    train_set = DefectDataset(args.train_size, seed=args.seed, augment=True)
    val_set = DefectDataset(args.val_size, seed=args.seed + 1)
    sampler = build_sampler(train_set) if args.balance else None
    train_loader = DataLoader(
        train_set, batch_size=args.batch_size, shuffle=sampler is None,
        sampler=sampler, num_workers=args.workers, pin_memory=True,
        drop_last=True)
    # workers must stay 0 here: a forked worker can not talk to the GPU
    val_loader = DataLoader(
        val_set, batch_size=args.batch_size, shuffle=False,
        num_workers=0, collate_fn=cuda_collate)
    return train_loader, val_loader
