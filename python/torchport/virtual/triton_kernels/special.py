"""Functions that NumPy lacks and torch has for tensors of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np


def by_torch(name: str, *values: Any) -> Any:
    """The function torch.special.NAME, or torch.NAME, of arrays. No mode, such as the capture of a graph,
    sees it."""
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    function = getattr(torch.special, name, None) or getattr(torch, name)
    with _disable_current_modes(), torch.no_grad():
        given = [torch.from_numpy(np.array(one)) for one in values]
        return function(*given).numpy()
