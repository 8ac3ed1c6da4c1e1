"""Where in the user's file a kernel was, and what cannot run there."""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType, TracebackType
from typing import NoReturn

from torchport.virtual.kernels import KernelNotSupported

# The code of the rewritten kernels, the functions of Triton's own library left out.
kernel_codes: set[CodeType] = set()
_OWN = str(Path(__file__).parent)


class DeviceAssertion(Exception):
    """A kernel asserted something (`tl.device_assert`); args: the message."""


class IllegalAccess(Exception):
    """A kernel used an address that belongs to no tensor of the device; args: what and where."""


def place() -> str:
    """FILE:LINE of the kernel that runs in this thread; "" if none does."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code in kernel_codes:
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def place_of(trace: TracebackType | None) -> str:
    """FILE:LINE of the innermost line of a kernel in a traceback; "" if there is none."""
    found = ""
    while trace is not None:
        if trace.tb_frame.f_code in kernel_codes:
            found = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def refuse(what: str, why: str, instead: str = "") -> NoReturn:
    """Raises KernelNotSupported for the line of the kernel that runs."""
    where = place()
    raise KernelNotSupported(
        f"torchport: {where + ': ' if where else ''}{what} cannot run on virtual devices: {why}."
        + (f" {instead}" if instead else "")
    )
