"""What torch._C has for CUDA and MPS since torch 2.15."""

from __future__ import annotations

import threading
from types import ModuleType
from typing import Any

from torchport.virtual.torch_c_shim._native import kind, ops

_selected = threading.local()  # .stream is the stream of MPS that this thread selected


def _streams_of_mps(torch: ModuleType) -> dict[str, Any]:
    """Work on a virtual device is done when its call returns, so streams only have numbers."""

    class _MPSStreamBase:
        def __init__(self, *, stream_id: int = 1) -> None:
            self._id = stream_id

        def __eq__(self, other: object) -> bool:
            return isinstance(other, _MPSStreamBase) and other._id == self._id

        def __hash__(self) -> int:
            return hash(self._id)

        def synchronize(self) -> None:
            pass

        @property
        def stream_id(self) -> int:
            return self._id

    def select(stream: _MPSStreamBase) -> None:
        _selected.stream = stream

    return {
        "_MPSStreamBase": _MPSStreamBase,
        "_mps_setStream": select,
        "_mps_getCurrentStream": lambda: getattr(_selected, "stream", _MPSStreamBase(stream_id=0)),
    }


def _of_cuda() -> dict[str, Any]:
    wildcard = {"enabled": False}
    masks: list[int] = []

    def push(bits: int) -> object:
        masks.append(bits)
        return object()

    return {
        "_cuda_hasPrimaryContext": lambda device: 0 <= device < ops().device_count(),
        "_cuda_tunableop_clear_all": lambda: None,
        "_cuda_tunableop_wildcard_fallback_enable": lambda value: wildcard.update(enabled=value),
        "_cuda_tunableop_wildcard_fallback_is_enabled": lambda: wildcard["enabled"],
        "_cuda_tunableop_push_dynamic_dims_mask": push,
        "_cuda_tunableop_pop_dynamic_dims_mask": lambda handle: masks.pop(),
    }


def bindings(torch: ModuleType) -> dict[str, Any]:
    if kind() == "mps":
        return _streams_of_mps(torch)
    return _of_cuda() if kind() == "cuda" else {}
