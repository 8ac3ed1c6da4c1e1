"""torch.export's own archive: it holds the graph and the weights, for Python and for compilers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.formats import _archive
from torchport.deploy.artefact.formats._format import ExportedModel, Format, Options, Runner
from torchport.deploy.artefact.sample import Sample, named_outputs


class ExportedArchive(Format):
    name = "pt2"
    suffix = ".pt2"

    def write(self, subject: ExportedModel, path: Path, options: Options) -> dict[str, Any]:
        try:
            _archive.write(path, lambda buffer: torch.export.save(subject.graph, buffer))
        except OSError:
            raise
        except Exception as error:
            raise ExportError(
                f"torch.export.save cannot write the model: {type(error).__name__}: {error}"
            ) from error
        return {}

    def runner(self, subject: ExportedModel, path: Path) -> tuple[Runner, str]:
        module = torch.export.load(path).module()

        def run(sample: Sample) -> list[torch.Tensor]:
            with torch.no_grad():
                return named_outputs(sample.call(module))[1]

        return run, f"torch.export {torch.__version__}"

    def attach(self, path: Path, contract: str) -> None:
        _archive.attach(path, contract)

    def contract(self, path: Path) -> str | None:
        return _archive.contract(path)


FORMAT = ExportedArchive()
