"""Finds where a model looks into a tensor by ways that no export follows: its memory, its address, its text."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from torchport.deploy.artefact.user_lines import line_here

_WORDS = {
    "untyped_storage": "reads the memory of a tensor",
    "storage": "reads the memory of a tensor",
    "_typed_storage": "reads the memory of a tensor",
    "data_ptr": "reads the address of a tensor",
    "__dlpack__": "gives a tensor to another library",
    "__reduce_ex__": "pickles a tensor",
    "__repr__": "shows a tensor as text",
    "__format__": "shows a tensor as text",
}


class Peeks(TorchFunctionMode):
    """``found`` has what the lines of the model do so, by line. What they learn of a tensor is in no graph:
    an artefact keeps what they did with it in the run from which it was made."""

    def __init__(self, found: dict[str, str] | None = None) -> None:
        super().__init__()
        self.found: dict[str, str] = {} if found is None else found

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        words = _WORDS.get(getattr(func, "__name__", ""))
        if words is not None and args and isinstance(args[0], torch.Tensor):
            line = line_here()
            if line is not None:
                self.found.setdefault(line, words)
        return func(*args, **(kwargs or {}))
