"""ONNX, written by torch.onnx's exporter on top of torch.export and compared in ONNX Runtime."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.formats._format import ExportedModel, Format, Options, Runner
from torchport.deploy.artefact.sample import Form, Sample

if TYPE_CHECKING:
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
        if options.opset is not None and opset != options.opset:
            raise ExportError(
                f"the model cannot be written in opset {options.opset}: it uses operators of a "
                f"later opset and stays at {opset}. Use --opset {opset}"
            )
        # Up to 2 GB, the limit of a protobuf message, this writes one file; above, also PATH.data.
        program.save(path, external_data=None)
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
        with _quiet("torch.onnx", "onnxscript"):
            program = torch.onnx.export(
                subject.graph,
                input_names=list(subject.sample.names),
                output_names=subject.output_names,
                dynamic_shapes=subject.axes.labels(subject.sample),
                opset_version=opset,
                dynamo=True,
                verbose=False,
            )
        assert program is not None  # dynamo=True always returns a program
        return program
    except torch.onnx.OnnxExporterError as error:
        cause = error.__cause__ or error
        lines = [line for line in str(cause).splitlines() if line.strip()]
        raise ExportError(
            f"torch.onnx cannot translate the model: {type(cause).__name__}: {lines[0] if lines else ''}"
        ) from error


@contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """Silences the warnings of these loggers (about torchvision, outputs that are None, failed
    version conversions): the export checks all of it and reports it itself.
    """
    levels = {name: logging.getLogger(name).level for name in names}
    try:
        for name in names:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _versions() -> dict[str, str]:
    found = {}
    for name in ("onnx", "onnxscript", "onnxruntime"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # the distribution has another name, such as onnxruntime-gpu
            continue
    return found


FORMAT = OnnxModel()
