"""torch.export's own archive: it holds the graph and the weights, for Python and for compilers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from torchport._native.programs import Program
from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.formats import _archive
from torchport.deploy.artefact.formats._format import ExportedModel, Format, Options, Runner
from torchport.deploy.artefact.sample import Form, Sample, named_outputs, plain_result
from torchport.deploy.artefact.state import own_random_numbers


class ExportedArchive(Format):
    name = "pt2"
    suffix = ".pt2"

    def write(self, subject: ExportedModel, path: Path, options: Options) -> dict[str, Any]:
        program = _of_operators(subject.graph)
        _make_result_plain(program)
        try:
            _archive.write(path, lambda buffer: torch.export.save(program, buffer))
        except OSError:
            raise
        except Exception as error:
            raise ExportError(
                f"torch.export.save cannot write the model: {type(error).__name__}: {_words(error)}"
            ) from error
        return {}

    def returns(self, form: Form, options: Options) -> str:
        return form.plain

    def runner(self, subject: ExportedModel, path: Path) -> tuple[Runner, str]:
        with path.open("rb") as file:  # of a path, torch wants a certain ending
            module = torch.export.load(file).module()
        name = f"torch.export {torch.__version__}"

        def run_in_python(sample: Sample) -> list[torch.Tensor]:
            with torch.no_grad():  # with gradients a recurrent layer takes another kernel
                return named_outputs(sample.call(module))[1]

        try:
            program = Program(path, subject.device)
        except RuntimeError as error:
            subject.python.append(_reason(error, path))
            return run_in_python, f"{name} in Python"
        if why := _operator_of_python(subject.graph):
            subject.python.append(why)
            return run_in_python, f"{name} in Python"

        def run(sample: Sample) -> list[torch.Tensor]:
            """The results in Python, which those without Python have to equal bit by bit."""
            without = sample.copy()
            with own_random_numbers(subject.module):
                wanted = run_in_python(sample)
            try:
                with own_random_numbers(subject.module):
                    given = program.run(without.tensors)
            except (RuntimeError, ValueError) as error:
                subject.python.append(_reason(error, path))
            else:
                if not _are_equal(wanted, given):
                    subject.python.append(
                        "without it the results differ from those of torch.export"
                    )
            return wanted

        return run, f"{name}, in Python and in C++"

    def host(self, subject: ExportedModel, path: Path) -> dict[str, Any]:
        needs = super().host(subject, path)
        return needs | {"python": subject.python[0]} if subject.python else needs

    def attach(self, path: Path, contract: str) -> None:
        _archive.attach(path, contract)

    def kept_bytes(self, path: Path) -> int:
        return _archive.kept_bytes(path)

    def contract(self, path: Path) -> str | None:
        return _archive.contract(path)


def _of_operators(program: ExportedProgram) -> ExportedProgram:
    """The program without the functions of Python that torch.vmap leaves in it."""
    calls = (node.target for node in program.graph.nodes if node.op == "call_function")
    if not any(
        getattr(target, "__module__", "").startswith("torch._functorch") for target in calls
    ):
        return program
    plain: ExportedProgram = program.run_decompositions({})
    return plain


def _operator_of_python(program: ExportedProgram) -> str:
    """The first operator that this process has from a definition in Python, with its line; empty if
    there is none. torchport infer does not have it."""
    for graph in program.graph_module.modules():
        for node in getattr(graph, "graph", program.graph).nodes:
            if not isinstance(node.target, torch._ops.OpOverload):
                continue
            name = node.target._schema.name
            if name in torch.library._defs:
                places = re.findall(r'File "([^"]+)", line (\d+)', node.stack_trace or "")
                line = f"{Path(places[-1][0]).name}:{places[-1][1]}: " if places else ""
                return f"{line}{name} is defined in Python"
    return ""


def _words(error: Exception) -> str:
    """The message of an error of torch.export.save: without the traceback that it may hold, whose
    last line is the reason."""
    told, traceback, lines = str(error).partition("Original exception Traceback")
    if not traceback:
        return told
    return f"{told.strip()}: {lines.strip().splitlines()[-1].strip()}"


def _reason(error: Exception, path: Path) -> str:
    """What the error of the C++ program says, without the name of the artefact and the folders."""
    text = str(error).splitlines()[0]
    for beginning in (f"cannot run {path}: ", f"torchport: {path}: ", "it needs Python: "):
        text = text.removeprefix(beginning)
    return re.sub(r"^\S*/([^/:]+:\d+: )", r"\1", text)


def _are_equal(one: Sequence[torch.Tensor], other: Sequence[torch.Tensor]) -> bool:
    """Whether the tensors are equal bit by bit; any NaN is equal to another."""
    return len(one) == len(other) and all(map(_is_equal, one, other))


def _is_equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.is_complex():
        one, other = torch.view_as_real(one), torch.view_as_real(other)
    same = (one == other) & (one.signbit() == other.signbit())  # 0.0 is not -0.0
    return bool((same | ((one != one) & (other != other))).all())


def _make_result_plain(program: ExportedProgram) -> None:
    """Lets the program return tuples, lists and dicts in place of other classes: these have no name
    in an archive, or need their package where it is loaded."""
    signature = program.module_call_graph[0].signature
    assert signature is not None  # the first entry is that of the whole program
    spec = signature.out_spec
    leaves = [torch.empty(0)] * spec.num_leaves
    signature.out_spec = pytree.tree_structure(plain_result(pytree.tree_unflatten(leaves, spec)))


FORMAT = ExportedArchive()
