"""Attention as its layers say it: without torch's fast path, and without reading masks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.modules import transformer

from torchport.deploy.artefact.parity import compare, eager
from torchport.deploy.artefact.sample import Sample
from torchport.deploy.artefact.tolerance import Tolerance

_WITH_FAST_PATH = (nn.TransformerEncoder, nn.TransformerEncoderLayer, nn.MultiheadAttention)


@contextmanager
def ordinary_attention() -> Iterator[bool]:
    """Runs the block without the fast path, and yields whether it was on. It fills the rows that a
    padding mask hides with zeros, and a capture does not take it.

    nn.Transformer also reads the values of a mask, to find out whether it is causal, which would
    allow a faster kernel. Within the block it applies the mask as it is.
    """
    was_on = torch.backends.mha.get_fastpath_enabled()
    detect = transformer._detect_is_causal_mask
    torch.backends.mha.set_fastpath_enabled(False)
    transformer._detect_is_causal_mask = lambda mask, is_causal=None, size=None: is_causal is True
    try:
        yield was_on
    finally:
        torch.backends.mha.set_fastpath_enabled(was_on)
        transformer._detect_is_causal_mask = detect


def fast_path_differs(
    module: nn.Module, sample: Sample, names: Sequence[str], outputs: Sequence[torch.Tensor]
) -> str:
    """What the fast path changes in the results, ``outputs`` being those without it; empty for
    nothing."""
    if not any(isinstance(part, _WITH_FAST_PATH) for part in module.modules()):
        return ""
    torch.backends.mha.set_fastpath_enabled(True)
    try:
        fast = eager(module, sample)[1]
    finally:
        torch.backends.mha.set_fastpath_enabled(False)
    dtype = next((one.dtype for one in outputs if one.is_floating_point()), torch.float32)
    wrong = [one.name for one in compare(names, outputs, fast, Tolerance.of(dtype)) if one.wrong]
    if not wrong:
        return ""
    return (
        f"{', '.join(wrong)} is that of the ordinary path of attention; torch's fast path, which "
        "eager mode takes without gradients, gives zeros in rows that the padding mask hides"
    )
