"""The same call on the CPU and on the virtual device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

SEED = 11


def _to(device: str, value: Any) -> Any:
    """A tensor of the device with the same bits, and a leaf where it was one."""
    if not isinstance(value, torch.Tensor):
        return value
    moved = value.detach().clone().to(device)
    return moved.requires_grad_() if value.requires_grad else moved


def on(device: str, call: Callable[..., Any], *args: Any) -> Any:
    torch.manual_seed(SEED)
    return call(*pytree.tree_map(lambda value: _to(device, value), args))


def same(call: Callable[..., Any], *args: Any, where: str = "cuda:0", close: bool = False) -> Any:
    """What the call gives on the device, once it is what it gives on the CPU, bit by bit or `close`.

    All tensors of the result have to be on the device.
    """
    want = pytree.tree_leaves(on("cpu", call, *args))
    result = on(where, call, *args)
    got = pytree.tree_leaves(result)
    assert len(want) == len(got), (len(want), len(got))
    for w, g in zip(want, got, strict=True):
        if not isinstance(w, torch.Tensor):
            assert w == g, (w, g)
            continue
        assert g.device == torch.device(where), g.device
        assert (w.shape, w.dtype, w.layout) == (g.shape, g.dtype, g.layout)
        exactly = {} if close else {"rtol": 0, "atol": 0}
        torch.testing.assert_close(g.cpu(), w, equal_nan=True, **exactly)
    return result
