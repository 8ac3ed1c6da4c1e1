"""ONNX, written by torch.onnx's exporter on top of torch.export and compared in ONNX Runtime."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.formats._format import ExportedModel, Format, Options, Runner
from torchport.deploy.artefact.formats._opsets import LEAST_OF_EXPORTER, converted
from torchport.deploy.artefact.formats._unlike import assumed as unlike
from torchport.deploy.artefact.quiet import quiet
from torchport.deploy.artefact.sample import Form, Sample
from torchport.deploy.artefact.user_lines import is_library

if TYPE_CHECKING:
    from torchport.deploy.artefact.prepare import Prepared
    from torchport.deploy.bench.modes import MeasuredModel

_KEY = "torchport"


def _missing_packages() -> list[str]:
    return [name for name in ("onnx", "onnxscript", "onnxruntime") if find_spec(name) is None]


class OnnxModel(Format):
    name = "onnx"
    suffix = ".onnx"
    bench_title = "ONNX Runtime"
    takes = frozenset({"opset"})
    unsupported = {torch.bfloat16: torch.float32}  # noqa: RUF012 - it is a ClassVar

    def check(self, options: Options) -> None:
        if missing := _missing_packages():
            raise ExportError(
                f"ONNX needs packages that are not installed: pip install {' '.join(missing)}"
            )

    def refuses(self, prepared: Prepared) -> str:
        for what, named in (
            ("input", prepared.sample.items()),
            ("output", zip(prepared.form.names, prepared.outputs, strict=True)),
        ):
            if names := [name for name, tensor in named if tensor.is_complex()]:
                return (
                    f"the {what} {names[0]} is complex, and ONNX Runtime has no complex tensors: use "
                    "torch.view_as_real and torch.view_as_complex at the edges of the model, or "
                    "export to pt2 or aoti"
                )
        return super().refuses(prepared)

    def why_not_bench(self, device: torch.device, virtual: bool) -> str:
        if missing := _missing_packages():
            return f"ONNX needs packages that are not installed: pip install {' '.join(missing)}"
        if device.type == "cpu":
            return ""
        import onnxruntime

        if virtual or "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
            return "the installed ONNX Runtime cannot use this device"
        return ""

    def bench_step(self, model: MeasuredModel) -> Callable[[], Any]:
        import onnxruntime

        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = torch.get_num_threads()
        wanted = ["CUDAExecutionProvider"] if model.device.type == "cuda" else []
        there = [name for name in wanted if name in onnxruntime.get_available_providers()]
        session = onnxruntime.InferenceSession(
            str(model.artefact), settings, providers=[*there, "CPUExecutionProvider"]
        )
        names = [put.name for put in session.get_inputs()]
        feed = dict(zip(names, (t.cpu().numpy() for t in model.tensors()), strict=True))
        return lambda: session.run(None, feed)

    def write(self, subject: ExportedModel, path: Path, options: Options) -> dict[str, Any]:
        program = _translated(subject, options.opset)
        opset = program.model.opset_imports[""]
        subject.assumptions.extend(unlike(subject.graph))
        if options.opset is None or opset == options.opset:
            # Up to 2 GB, the limit of a protobuf message, this writes one file; above, also
            # PATH.data.
            program.save(path, external_data=None)
        else:
            opset = options.opset
            path.write_bytes(converted(program.model_proto, opset))
        return {"opset": opset, **_versions()}

    def runner(self, subject: ExportedModel, path: Path) -> tuple[Runner, str]:
        import onnxruntime

        providers = ["CPUExecutionProvider"]
        if subject.device.type == "cuda" and torch.version.cuda is not None:
            providers = [
                name
                for name in ("CUDAExecutionProvider", "CPUExecutionProvider")
                if name in onnxruntime.get_available_providers()
            ]
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(str(path), settings, providers=providers)
        except Exception as error:
            raise ExportError(
                f"ONNX Runtime {onnxruntime.__version__} refuses the model: "
                f"{str(error).splitlines()[0]}"
            ) from error
        where = session.get_providers()[0].removesuffix("ExecutionProvider")
        names = [node.name for node in session.get_inputs()]

        def run(sample: Sample) -> list[torch.Tensor]:
            feeds = {name: tensor.cpu().numpy() for name, tensor in sample.items() if name in names}
            try:
                results = session.run(None, feeds)
            except Exception as error:
                shapes = {name: list(value.shape) for name, value in feeds.items()}
                raise ExportError(
                    f"ONNX Runtime fails on {shapes}: {str(error).splitlines()[0]}"
                ) from error
            return [torch.as_tensor(result) for result in results]

        return run, f"ONNX Runtime {onnxruntime.__version__}, {where}"

    def returns(self, form: Form, options: Options) -> str:
        return f"{len(form.names)} by name: {', '.join(form.names)}"

    def attach(self, path: Path, contract: str) -> None:
        """Appends the contract as one more metadata entry. Protobuf allows this: fields may come in
        any order, and repeated fields add up. So a large graph is neither read nor written again.
        """
        import onnx

        entry = onnx.StringStringEntryProto(key=_KEY, value=contract)
        with open(path, "ab") as file:
            file.write(onnx.ModelProto(metadata_props=[entry]).SerializeToString())

    def contract(self, path: Path) -> str | None:
        import onnx

        model = onnx.load(path, load_external_data=False)
        return next((entry.value for entry in model.metadata_props if entry.key == _KEY), None)

    def host(self, subject: ExportedModel, path: Path) -> dict[str, Any]:
        return {"device": "any"}


def _translated(subject: ExportedModel, opset: int | None) -> torch.onnx.ONNXProgram:
    try:
        return _translate(subject, subject.graph, opset)
    except torch.onnx.OnnxExporterError as error:
        if "Error when translating node" not in _first_line(error):
            raise _refused(error, subject) from error
        first = error
    # The exporter translates some operators only in their most frequent form: attention of three
    # dimensions. Their decomposition has a translation.
    try:
        return _translate(subject, subject.graph.run_decompositions(), opset)
    except Exception:
        raise _refused(first, subject) from first


def _translate(
    subject: ExportedModel, graph: torch.export.ExportedProgram, opset: int | None
) -> torch.onnx.ONNXProgram:
    with quiet("torch.onnx", "onnxscript"):
        program = torch.onnx.export(
            graph,
            input_names=list(subject.sample.names),
            output_names=subject.output_names,
            dynamic_shapes=subject.axes.labels(subject.sample),
            opset_version=opset if opset is None else max(opset, LEAST_OF_EXPORTER),
            dynamo=True,
            verbose=False,
        )
    assert program is not None  # dynamo=True always returns a program
    return program


def _refused(error: Exception, subject: ExportedModel) -> ExportError:
    text = _first_line(error)
    if found := re.search(r"translating node %(\w+) .*target=torch\.ops\.([\w.]+)", text):
        node = next((one for one in subject.graph.graph.nodes if one.name == found[1]), None)
        places = re.findall(r'File "([^"]+)", line (\d+)', node.stack_trace or "") if node else []
        own = [":".join(place) for place in places if not is_library(place[0])]
        return ExportError(
            f"torch.onnx has no translation of {found[2]}{f', at {own[-1]}' if own else ''}: compute "
            "it with other operators, or export to torchscript, pt2 or aoti"
        )
    return ExportError(
        f"torch.onnx cannot translate the model: {type(error.__cause__ or error).__name__}: {text}"
    )


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error.__cause__ or error).splitlines() if line.strip()]
    return lines[0] if lines else ""


def _versions() -> dict[str, str]:
    found = {}
    for name in ("onnx", "onnxscript", "onnxruntime"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # the distribution has another name, such as onnxruntime-gpu
            continue
    return found


FORMAT = OnnxModel()
