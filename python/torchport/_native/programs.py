"""What C++ runs: torch.export programs (src/bindings/program.cpp) and artefacts of torchport export
(src/bindings/session.cpp)."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from torchport._native import call, function
from torchport._native.held import Held

_free_program: Callable[[int], None] = function("torchport_program_free", None, ctypes.c_void_p)
_free_session: Callable[[int], None] = function("torchport_session_free", None, ctypes.c_void_p)


class Program(Held):
    """A file of torch.export.save, loaded without Python. RuntimeError if it cannot be run so, with
    the reason.
    """

    __slots__ = ()

    def __init__(self, path: Path, device: torch.device) -> None:
        self._hold(call("open_program", str(path), device), _free_program)

    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Runs it once, with the tensors among its arguments. Gives those of its result."""
        results: list[torch.Tensor] = call("run_program", self._address, list(inputs))
        return results


class Session(Held):
    """An artefact of torchport export, loaded by its engine onto a device: by default the one that
    it was made for. RuntimeError if the host lacks something that the contract asks for.
    """

    __slots__ = ()

    def __init__(self, path: Path, device: torch.device | None = None, threads: int = 0) -> None:
        self._hold(call("open_session", str(path), device, threads), _free_session)

    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Runs it once. Inputs and outputs are in the contract's order, on its device."""
        results: list[torch.Tensor] = call("run_session", self._address, list(inputs))
        return results

    @property
    def runtime(self) -> str:
        """The engine and its version."""
        name: str = call("session_runtime", self._address)
        return name


def contract_of(path: Path) -> dict[str, Any]:
    """The contract in an artefact. RuntimeError if it has none."""
    contract: dict[str, Any] = json.loads(call("artefact_contract", str(path)))
    return contract
