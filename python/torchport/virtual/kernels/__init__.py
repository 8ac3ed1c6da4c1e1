"""Code of CUDA programs on virtual devices: extensions, and functions for torch.cuda.jiterator."""

from __future__ import annotations


class KernelNotSupported(NotImplementedError):
    """Virtual devices cannot run a feature that a kernel uses; the message has the line."""
