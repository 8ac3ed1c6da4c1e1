"""Makes JSON of what a question returns: numbers in full, tensors by type, shape, values and hash."""

from __future__ import annotations

import ctypes
import hashlib
import math
from collections.abc import Mapping
from typing import Any

import torch

SHOWN = 64  # elements of a tensor that are written one by one; of larger ones, 8 at its begin
SPREAD = 8  # and as many, evenly spaced up to its end


def described(value: Any) -> Any:
    """The value as JSON has it. Not finite numbers are words, and so are objects."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, complex):
        return [described(value.real), described(value.imag)]
    if isinstance(value, torch.Tensor):
        return tensor(value)
    if isinstance(value, Mapping):
        return {str(key): described(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [described(item) for item in value]
    if isinstance(value, (torch.dtype, torch.device, torch.Size, torch.layout)):
        return str(value)
    return f"<{type(value).__name__}>"


def tensor(value: torch.Tensor) -> dict[str, Any]:
    """Its type, shape and device, the values at its begin and some at equal distances, and a hash.

    Shapes: any. A layout that is not strided is described by its dense values.
    """
    with torch.no_grad():
        about = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)} {value.device}"
        if value.layout != torch.strided:
            about += f" {str(value.layout).removeprefix('torch.')}"
            value = value.to_dense()
        if value.is_quantized:
            value = value.int_repr()
        flat = value.detach().resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)
        count = flat.numel()
        found: dict[str, Any] = {"tensor": about}
        if count <= SHOWN:
            found["values"] = numbers(flat)
            return found
        places = [8 + (count - 9) * i // (SPREAD - 1) for i in range(SPREAD)]
        found["values"] = numbers(flat[:8])
        found["spread"] = numbers(flat[torch.tensor(places)])
        found["bytes"] = digest(flat)
        return found


def numbers(flat: torch.Tensor) -> list[Any]:
    if flat.dtype in _WIDER:
        flat = flat.to(_WIDER[flat.dtype])
    return [described(x) for x in flat.tolist()]


_WIDER = {
    getattr(torch, name): torch.float32
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
    if hasattr(torch, name)
} | {torch.complex32: torch.complex64}


def digest(flat: torch.Tensor) -> str:
    """A short hash of the bytes of a contiguous tensor of the CPU."""
    raw = ctypes.string_at(flat.data_ptr(), flat.numel() * flat.element_size())
    return hashlib.sha256(raw).hexdigest()[:16]
