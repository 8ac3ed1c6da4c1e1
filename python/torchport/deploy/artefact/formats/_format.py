"""The interface of an export format: it writes a model and runs the written file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import nn
from torch.export import ExportedProgram

from torchport.deploy.artefact.axes import Axes
from torchport.deploy.artefact.capturable import no_program
from torchport.deploy.artefact.sample import Form, Sample

if TYPE_CHECKING:
    from torchport.deploy.artefact.prepare import Prepared
    from torchport.deploy.bench.modes import MeasuredModel

Runner = Callable[[Sample], list[torch.Tensor]]


@dataclass(frozen=True)
class ExportedModel:
    """The exported part: the whole model, or its beginning when a difference is searched for.
    ``program`` is None if the format does not need it. ``assumptions`` receives what the artefact
    takes for granted, for the contract: "net.py:16 branches on sizes of the inputs". ``python``
    receives why the artefact needs Python, if its format has an engine that does not.
    """

    module: nn.Module
    sample: Sample
    output_names: list[str]
    axes: Axes
    device: torch.device
    program: ExportedProgram | None
    assumptions: list[str] = field(default_factory=list)
    python: list[str] = field(default_factory=list)

    @property
    def graph(self) -> ExportedProgram:
        """The program, for a format that needs one."""
        assert self.program is not None
        return self.program


@dataclass(frozen=True)
class Options:
    """The options that only some formats take."""

    opset: int | None = None
    script: bool = False
    allow_baked: bool = False

    def given(self) -> list[str]:
        """The names of the options that differ from their defaults."""
        return [one.name for one in fields(self) if getattr(self, one.name) != one.default]


class Format(ABC):
    """A format has no state. Its methods are as thread safe as torch's own."""

    name: ClassVar[str]
    suffix: ClassVar[str]
    needs_program: ClassVar[bool] = True
    takes: ClassVar[frozenset[str]] = frozenset()  # names of the options that apply to it
    # Maps a dtype that the runtime has no kernels for to a wider dtype that replaces it.
    unsupported: ClassVar[dict[torch.dtype, torch.dtype]] = {}

    def check(self, options: Options) -> None:  # noqa: B027 - most have nothing to refuse
        """Runs before all other work. Raises ExportError if the format needs something that is
        missing, such as a package.
        """

    def refuses(self, prepared: Prepared) -> str:
        """Why the format cannot hold the model, and what to do instead; empty if nothing is known
        that hinders it."""
        return no_program(prepared) if self.needs_program else ""

    @abstractmethod
    def write(self, subject: ExportedModel, path: Path, options: Options) -> dict[str, Any]:
        """Writes the artefact. Names of further files beside it must begin with its name. Returns
        the versions for the contract. Raises ExportError if the format cannot hold the model.
        """

    @abstractmethod
    def runner(self, subject: ExportedModel, path: Path) -> tuple[Runner, str]:
        """Returns a function that runs the artefact on a sample and gives a flat list of outputs,
        and the runtime's name.
        """

    @abstractmethod
    def attach(self, path: Path, contract: str) -> None:
        """Stores the contract in the artefact, behind its first ``kept_bytes(path)`` bytes."""

    def kept_bytes(self, path: Path) -> int:
        """How many bytes at the start of the artefact `attach` leaves as they are."""
        return path.stat().st_size

    @abstractmethod
    def contract(self, path: Path) -> str | None:
        """The contract in an artefact; None if it has none."""

    def returns(self, form: Form, options: Options) -> str:
        """The form of the artefact's result, if that of the model's result is ``form``."""
        return form.text

    def why_different(self, options: Options) -> str:
        """What may explain a difference from the model, and what to do; empty if nothing is known.
        It follows the error of an artefact that computes something different.
        """
        return ""

    # The title of the format's row in `torchport bench`; empty if it has no row.
    bench_title: ClassVar[str] = ""

    def why_not_bench(self, device: torch.device, virtual: bool) -> str:
        """Why the artefact cannot be measured on this device; empty if it can be."""
        return ""

    def bench_step(self, model: MeasuredModel) -> Callable[[], Any]:
        """Returns a function that runs the artefact `model.artefact` once with the model's inputs,
        for `torchport bench`.
        """
        raise NotImplementedError(f"{self.name} artefacts are not measured")

    def host(self, subject: ExportedModel, path: Path) -> dict[str, Any]:
        """What a host must have to run the artefact, as the contract stores it."""
        return {"device": subject.device.type}
