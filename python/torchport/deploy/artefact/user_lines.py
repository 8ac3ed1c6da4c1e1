"""Finds the user's lines: frames that are neither torch's nor torchport's."""

from __future__ import annotations

import sys
import warnings
from types import CodeType, FrameType, TracebackType

import torch

_LIBRARIES = (torch.__path__[0], warnings.__file__, "<")
_OWN = ("torchport/deploy", "torchport/observe")
# Functions of torchport that torch calls between an operator and the line that calls it.
_BETWEEN = frozenset(["__torch_function__", "__torch_dispatch__", "apply"])


def is_users(code: CodeType) -> bool:
    return not is_library(code.co_filename)


def is_library(file: str) -> bool:
    """Whether a file is torch's or torchport's."""
    return file.startswith(_LIBRARIES) or any(own in file for own in _OWN)


def line_of_error(trace: TracebackType | None) -> str | None:
    """The innermost of the user's lines in a traceback, as FILE:LINE."""
    line = None
    while trace is not None:
        if is_users(trace.tb_frame.f_code):
            line = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return line


def line_here() -> str | None:
    """The innermost of the program's lines that are being run, as FILE:LINE; None if the model has
    no line there, only torch's own modules."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_own(frame):
        frame = frame.f_back  # what asks for the line
    while frame is not None and not (_is_own(frame) and frame.f_code.co_name not in _BETWEEN):
        if is_users(frame.f_code):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def _is_own(frame: FrameType) -> bool:
    return any(own in frame.f_code.co_filename for own in _OWN)
