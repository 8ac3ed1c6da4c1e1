"""Finds where a model looks into a tensor by ways that no export follows: its memory, its address, its text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from torchport.deploy.artefact.user_lines import is_users, line_here

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
# Their answers are other ones for a tensor of the same values, and torch's own modules ask them too.
_LAYOUT = {
    "is_contiguous": "asks how a tensor lies in memory (is_contiguous)",
    "stride": "asks how a tensor lies in memory (stride)",
}
# The caller of an artefact chooses what they answer. They are functions of C, whatever name a program has for them.
_MODES = {
    torch.is_grad_enabled: "asks torch.is_grad_enabled()",
    torch.is_inference_mode_enabled: "asks torch.is_inference_mode_enabled()",
    torch.is_inference: "asks torch.is_inference()",
}


@contextmanager
def asked_modes(peeks: Peeks) -> Iterator[None]:
    """Adds to ``peeks`` the lines of the model that ask whether gradients are recorded."""

    def look(frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and is_users(frame.f_code):
            words = next((text for one, text in _MODES.items() if called is one), None)
            if words is not None:
                peeks.found.setdefault(f"{frame.f_code.co_filename}:{frame.f_lineno}", words)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(before)


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
        words = _LAYOUT.get(getattr(func, "__name__", ""))
        caller = sys._getframe(1)
        if words is not None and is_users(caller.f_code):
            self.found.setdefault(f"{caller.f_code.co_filename}:{caller.f_lineno}", words)
        return func(*args, **(kwargs or {}))
