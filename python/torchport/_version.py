"""The version of torchport. The one source of it is project(VERSION) in CMakeLists.txt."""

from __future__ import annotations

from torchport import _libraries


def read() -> str:
    """The version, from the file that the build wrote. importlib.metadata takes 10 ms and only knows
    packages of the running Python's environment; torchport may serve another one (_start)."""
    return _libraries.find("version.txt").read_text(encoding="utf-8").strip()
