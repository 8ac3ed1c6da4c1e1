from __future__ import print_function

import os
import random
import sys
import time
from collections import namedtuple

import numpy as np
import torch

try:
    from apex.optimizers import FusedSGD
except ImportError:
    FusedSGD = None

Versions = namedtuple("Versions", ["python", "torch", "cuda"])


class AverageMeter(object):
    """Computes and stores the average and current value"""

    def __init__(self):
        self.reset()

    def reset(self):
        self.val = 0
        self.avg = 0
        self.sum = 0
        self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


class HostInfo(object):
    """What goes into the log header."""

    def __init__(self):
        self.versions = Versions(sys.version.split()[0], torch.__version__,
                                 torch.version.cuda)

    def cuda(self):
        return self.versions.cuda or "none"

    def header(self):
        return "python %s, torch %s, cuda %s" % (
            self.versions.python, self.versions.torch, self.cuda())


class EpochTimer(object):
    """Wall clock of an epoch, kernels that still run included."""

    def __enter__(self):
        torch.cuda.synchronize()
        self.start = time.time()
        return self

    def __exit__(self, *args):
        torch.cuda.synchronize()
        self.seconds = time.time() - self.start


def accuracy(logits, target):
    with torch.no_grad():
        pred = logits.argmax(dim=1)
        return pred.eq(target).float().mean().item()


def confusion_matrix(pred, target, num_classes):
    # counted on the host, it is printed anyway
    matrix = np.zeros((num_classes, num_classes), dtype=np.int64)
    np.add.at(matrix, (target.cpu().numpy(), pred.cpu().numpy()), 1)
    return matrix


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


def memory_string():
    return "mem %.0f MB (peak %.0f MB, cached %.0f MB)" % (
        torch.cuda.memory_allocated() / 1e6,
        torch.cuda.max_memory_allocated() / 1e6,
        torch.cuda.memory_cached() / 1e6)


def free_cache():
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def gpu_temperature(index=0):
    import pynvml
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    return pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)


def cudnn_layout(images):
    """NHWC pays off only in the fp16 kernels of cudnn."""
    if images.device.type == "cuda" and images.dtype == torch.float16:
        return torch.channels_last
    return torch.contiguous_format


def to_numpy(tensor):
    return tensor.detach().cpu().numpy()


def save_checkpoint(model, optimizer, scheduler, epoch, best_acc, path):
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        os.makedirs(folder)
    torch.save({
        "epoch": epoch,
        "best_acc": best_acc,
        "state_dict": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
    }, path)


def load_checkpoint(path, model, optimizer=None, scheduler=None):
    if not os.path.isfile(path):
        raise IOError("no checkpoint at '%s'" % path)
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["state_dict"])
    if optimizer is not None:
        optimizer.load_state_dict(checkpoint["optimizer"])
    if scheduler is not None:
        scheduler.load_state_dict(checkpoint["scheduler"])
    return checkpoint["epoch"] + 1, checkpoint["best_acc"]


def strip_module(state_dict):
    """Keys of a DataParallel checkpoint without the leading 'module.'."""
    return {k[7:] if k.startswith("module.") else k: v
            for k, v in state_dict.items()}


def build_optimizer(model, args):
    decay, no_decay = [], []
    for p in model.parameters():
        (no_decay if p.dim() == 1 else decay).append(p)
    groups = [{"params": decay, "weight_decay": args.weight_decay},
              {"params": no_decay, "weight_decay": 0.0}]
    if args.fused and FusedSGD is not None:
        return FusedSGD(groups, lr=args.lr, momentum=0.9)
    return torch.optim.SGD(groups, lr=args.lr, momentum=0.9, nesterov=True)
