"""Prints exceptions of the user's program without the frames of torchport and torch."""

from __future__ import annotations

import sys
import traceback
from importlib.util import find_spec
from pathlib import Path

from torchport._printable import printable

FAILED = 1
INTERNAL_ERROR = 3


def print_error(error: BaseException, what: str) -> int:
    """Prints ``what`` and the exception with the frames of the program that raised it. Returns the
    exit code: 1 for an exception of the program, 3 for one of torchport, with all frames.
    """
    sys.stdout.flush()
    frames = _of_program(error)
    if not frames and not isinstance(error, (SystemExit, SyntaxError, ImportError)):
        traceback.print_exception(error)
        print("torchport: this is an error in torchport; please report it", file=sys.stderr)
        return INTERNAL_ERROR
    print(f"torchport: {what}", file=sys.stderr)
    if isinstance(error, SystemExit):
        lines = [f"the program ended itself with {error.code!r}\n"]
    else:
        lines = traceback.format_exception_only(error)
    print(printable("".join([*traceback.format_list(frames), *lines])), end="", file=sys.stderr)
    return FAILED


def is_of_program(error: BaseException) -> bool:
    """Whether a line of the user's program took part in raising the exception."""
    return bool(_of_program(error))


def _of_program(error: BaseException) -> list[traceback.FrameSummary]:
    spec = find_spec("torch")
    hidden = [str(Path(__file__).parent), "<frozen"]
    if spec is not None and spec.origin:
        hidden.append(str(Path(spec.origin).parent))
    # A module that the program imports is run by runpy and importlib, with their names in <>.
    return [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(tuple(hidden)) and not _is_launcher(frame)
    ]


def _is_launcher(frame: traceback.FrameSummary) -> bool:
    """The standard library's modules that start programs and load modules."""
    return Path(frame.filename).parent.name == "importlib" or frame.filename.endswith("runpy.py")
