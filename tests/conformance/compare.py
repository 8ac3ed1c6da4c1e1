"""Whether a call on the device gave what the CPU's call gave."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

# Their values are whatever was in memory.
UNINITIALIZED = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "resize_",
    "resize_as_",
}

# LAPACK's answers differ in their last bits with the place of the matrix in memory: the CPU's from
# its own (168 of 300 runs of one least-squares problem).
PLACED = {"linalg.lstsq"}


@dataclass
class Outcome:
    """What a call returned or raised."""

    value: Any = None
    error: BaseException | None = None


def attempt(call: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(value=call())
    except Exception as error:  # every error of an operator is something to compare
        return Outcome(error=error)


def without_device(text: str) -> str:
    """An error's text with devices made the same; addresses and stack traces cut off."""
    text = re.sub(r", device='(cuda|cpu)(:\d+)?'", "", text)  # of a tensor's repr
    text = re.sub(r"'(cuda|cpu)(:\d+)?'", "'DEVICE'", text)
    text = re.sub(r"\b(cuda|cpu)(:\d+)?\b|\bCUDA|\bCPU", "DEVICE", text, flags=re.IGNORECASE)
    text = re.sub(r"Cuda|Cpu|CUDA|CPU", "DEVICE", text)
    text = re.sub(r"0x[0-9a-f]+", "ADDRESS", text)
    return text.split("\nException raised from")[0].strip()


def compare_errors(host: BaseException, device: BaseException) -> list[str]:
    if type(host) is not type(device):
        return [f"error.type: {type(host).__name__} and {type(device).__name__}: {device}"[:400]]
    if without_device(str(host)) != without_device(str(device)):
        return [f"error.text: {str(host)[:200]!r} and {str(device)[:200]!r}"]
    return []


def outcomes(host: Outcome, device: Outcome) -> list[str] | None:
    """Differences in how two calls ended; None where both returned."""
    if host.error is None and device.error is None:
        return None
    if host.error is None:
        return [f"raises: {type(device.error).__name__}: {device.error}"[:500]]
    if device.error is None:
        return [f"does not raise: {type(host.error).__name__}: {host.error}"[:300]]
    return compare_errors(host.error, device.error)


def _same_bytes(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.layout != torch.strided or a.is_nested:
        return _same_parts(a, b)
    if a.is_quantized:
        return torch.equal(a.int_repr(), b.int_repr())
    if a.numel() == 0:
        return True
    a, b = (t.detach().resolve_conj().resolve_neg() for t in (a, b))
    a, b = (torch.empty(t.shape, dtype=t.dtype).copy_(t) for t in (a, b))
    return bool(torch.equal(a.flatten().view(torch.uint8), b.flatten().view(torch.uint8)))


def _parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    tensor = tensor.detach()
    if tensor.is_nested:
        return list(tensor.unbind())
    if tensor.layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return [tensor.to_dense()]


def _same_parts(a: torch.Tensor, b: torch.Tensor) -> bool:
    parts = list(zip(_parts(a), _parts(b), strict=True))
    return all(x.shape == y.shape and _same_bytes(x, y) for x, y in parts)


def _tensor(host: torch.Tensor, device: torch.Tensor, *, values: bool, close: bool) -> list[str]:
    if device.device != torch.device("cuda:0"):
        return [f"device: {device.device}"]
    for what in ("layout", "dtype", "shape", "is_nested", "requires_grad"):
        if getattr(host, what) != getattr(device, what):
            return [f"{what}: {getattr(host, what)} and {getattr(device, what)}"]
    if host.layout == torch.strided and not host.is_nested:
        if host.stride() != device.stride():
            return [f"stride: {host.stride()} and {device.stride()}"]
        if host.storage_offset() != device.storage_offset():
            return [f"offset: {host.storage_offset()} and {device.storage_offset()}"]
    if host.is_conj() != device.is_conj() or host.is_neg() != device.is_neg():
        return [f"bits: {host.is_conj()} {host.is_neg()}"]
    if values:
        copy = device.detach().cpu()
        same = _nearly(host, copy) if close else _same_bytes(host, copy)
        if not same:
            return [f"value: {_difference(host, copy)}"]
    return []


def _nearly(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True)


def _difference(host: torch.Tensor, device: torch.Tensor) -> str:
    try:
        a, b = (t.detach().to_dense().flatten() for t in (host, device))
        places = (a != b).nonzero()
        if places.numel() == 0:
            return "only in the signs of zeros"
        at = int(places[0])
        return f"[{at}] {a[at].item()!r} and {b[at].item()!r}"
    except Exception:  # of a kind that cannot be shown so
        return "differ"


def _relations(tensors: list[torch.Tensor], inputs: list[torch.Tensor]) -> list[Any]:
    """For each tensor: the same as which input, with whose memory, a view or not."""

    def memory(tensor: torch.Tensor) -> int | None:
        if tensor.layout != torch.strided or tensor.is_nested:
            return None
        return tensor.untyped_storage()._cdata

    known = [memory(t) for t in inputs]
    result = []
    for tensor in tensors:
        own = memory(tensor)
        same = [i for i, t in enumerate(inputs) if t is tensor]
        shared = [i for i, m in enumerate(known) if m is not None and m == own]
        result.append((same, shared, tensor._is_view()))
        known.append(own)
    return result


def results(
    host: Any,
    device: Any,
    host_inputs: list[torch.Tensor],
    device_inputs: list[torch.Tensor],
    *,
    values: bool = True,
    close: bool = False,
    aliases: bool = True,
) -> list[str]:
    """The first difference of two results; nothing where they are alike."""
    a, a_spec = pytree.tree_flatten(host)
    b, b_spec = pytree.tree_flatten(device)
    if len(a) != len(b) or str(a_spec) != str(b_spec):
        return [f"structure: {a_spec} and {b_spec}"]
    for x, y in zip(a, b, strict=True):
        if type(x) is not type(y):
            return [f"type: {type(x)} and {type(y)}"]
        if isinstance(x, torch.Tensor):
            if found := _tensor(x, y, values=values, close=close):
                return found
        elif values and without_device(repr(x)) != without_device(repr(y)):
            return [f"value: {x!r} and {y!r}"]
    if not aliases:
        return []
    x, y = ([t for t in leaves if isinstance(t, torch.Tensor)] for leaves in (a, b))
    ours, theirs = _relations(x, host_inputs), _relations(y, device_inputs)
    return [] if ours == theirs else [f"alias: {ours} and {theirs}"[:300]]
