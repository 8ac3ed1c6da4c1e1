"""Watching a model run: where its tensors are, what mixes devices, what copies."""

from torchport._lazy import exports as _exports

__getattr__, __all__ = _exports(
    __name__,
    {"Verification": "result", "require_same_device": "require", "verify": "verifying"},
)
