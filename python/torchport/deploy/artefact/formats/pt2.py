"""torch.export's own archive: it holds the graph and the weights, for Python and for compilers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.formats import _archive
from torchport.deploy.artefact.formats._format import ExportedModel, Format, Options, Runner
from torchport.deploy.artefact.sample import Form, Sample, named_outputs, plain_result


class ExportedArchive(Format):
    name = "pt2"
    suffix = ".pt2"

    def write(self, subject: ExportedModel, path: Path, options: Options) -> dict[str, Any]:
        _make_result_plain(subject.graph)
        try:
            _archive.write(path, lambda buffer: torch.export.save(subject.graph, buffer))
        except OSError:
            raise
        except Exception as error:
            raise ExportError(
                f"torch.export.save cannot write the model: {type(error).__name__}: {error}"
            ) from error
        return {}

    def returns(self, form: Form, options: Options) -> str:
        return form.plain

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


def _make_result_plain(program: ExportedProgram) -> None:
    """Lets the program return tuples, lists and dicts in place of other classes: these have no name
    in an archive, or need their package where it is loaded."""
    signature = program.module_call_graph[0].signature
    assert signature is not None  # the first entry is that of the whole program
    spec = signature.out_spec
    leaves = [torch.empty(0)] * spec.num_leaves
    signature.out_spec = pytree.tree_structure(plain_result(pytree.tree_unflatten(leaves, spec)))


FORMAT = ExportedArchive()
