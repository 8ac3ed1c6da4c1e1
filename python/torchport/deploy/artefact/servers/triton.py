"""NVIDIA Triton's model repository: MODEL/config.pbtxt and MODEL/VERSION/model.onnx.

The rules are those of its documentation, "Model Repository" and "Model Configuration", and of the
page of its PyTorch backend. The schema is model_config.proto.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torchport._files import write_text
from torchport.deploy.artefact.errors import ExportError
from torchport.deploy.artefact.servers._server import Publication, Server

# Of each format: what Triton calls it, its file, and whether Triton joins requests to a batch.
_PLATFORMS = {
    "onnx": ("onnxruntime", "onnxruntime_onnx", "model.onnx", True),
    "torchscript": ("pytorch", "pytorch_libtorch", "model.pt", True),
    "aoti": ("pytorch", "torch_aoti", "model.pt2", False),
}
_TYPES = {
    "bool": "TYPE_BOOL",
    "uint8": "TYPE_UINT8",
    "int8": "TYPE_INT8",
    "int16": "TYPE_INT16",
    "int32": "TYPE_INT32",
    "int64": "TYPE_INT64",
    "float16": "TYPE_FP16",
    "float32": "TYPE_FP32",
    "float64": "TYPE_FP64",
    "bfloat16": "TYPE_BF16",
}
# The largest batch of an artefact whose own is not bounded.
_BATCH = 64


class Triton(Server):
    name = "triton"

    def refuses(self, format_: str) -> str:
        if format_ in _PLATFORMS:
            return ""
        return (
            f"Triton runs no {format_} artefacts: export to {', '.join(sorted(_PLATFORMS)[:-1])} or "
            f"{sorted(_PLATFORMS)[-1]}"
        )

    @contextmanager
    def version(self, folder: Path, format_: str) -> Iterator[Publication]:
        if folder.exists() and not folder.is_dir():
            raise ExportError(f"{folder} is a file; name the folder of the model in the repository")
        if folder.is_dir() and any(folder.iterdir()) and not (folder / "config.pbtxt").is_file():
            raise ExportError(
                f"{folder} has no config.pbtxt, so it is no model of a repository; name another folder"
            )
        if not folder.absolute().parent.is_dir():
            raise ExportError(
                f"cannot write {folder}: there is no folder {folder.absolute().parent}"
            )
        made = not folder.exists()
        folder.mkdir(exist_ok=True)
        # Triton passes over folders whose names are no numbers.
        staging = Path(tempfile.mkdtemp(prefix=".export-", dir=folder))
        try:
            yield _Version(folder, staging, format_)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            if made and not any(folder.iterdir()):
                folder.rmdir()


class _Version(Publication):
    def __init__(self, folder: Path, staging: Path, format_: str) -> None:
        super().__init__(staging / _PLATFORMS[format_][2])
        self._folder = folder
        self._staging = staging

    def publish(self, contract: dict[str, Any]) -> Path:
        config = config_of(self._folder.absolute().name, contract)
        known = self._folder / "config.pbtxt"
        if not known.exists():
            write_text(known, config)
        elif known.read_text() != config:
            raise ExportError(
                f"{known} describes other inputs or outputs, or was edited. A version must fit the "
                "model's configuration: export to another folder, or remove that file first"
            )
        version = self._folder / str(_next(self._folder))
        os.chmod(self._staging, 0o755)
        self._staging.rename(version)
        return version / self.artefact.name


def _next(folder: Path) -> int:
    return 1 + max((int(one.name) for one in folder.iterdir() if one.name.isdigit()), default=0)


def config_of(name: str, contract: dict[str, Any]) -> str:
    """The model's configuration, in protobuf's text format.

    Raises ExportError for a tensor that Triton does not have.
    """
    backend, platform, _, joins = _PLATFORMS[contract["format"]]
    axis = _batch_axis(contract) if joins else None
    lines = [
        f"name: {json.dumps(name)}",
        f'backend: "{backend}"',
        f'platform: "{platform}"',
    ]
    if axis is None:
        lines.append("max_batch_size: 0")
    else:
        most = contract["axes"][axis]["maximum"] or _BATCH
        lines += [f"max_batch_size: {most}", "dynamic_batching { }"]
    for kind, entries in (("input", contract["inputs"]), ("output", contract["outputs"])):
        for at, entry in enumerate(entries):
            shown = entry["name"] if backend == "onnxruntime" else f"{kind.upper()}__{at}"
            shape = entry["shape"] if axis is None else entry["shape"][1:]
            lines += _tensor(kind, shown, entry, shape)
    device = "KIND_CPU" if contract["host"]["device"] in ("any", "cpu") else "KIND_GPU"
    lines.append(f"instance_group [ {{ kind: {device} }} ]")
    return "\n".join(lines) + "\n"


def _tensor(kind: str, name: str, entry: dict[str, Any], shape: list[Any]) -> list[str]:
    data_type = _TYPES.get(entry["dtype"])
    if data_type is None:
        raise ExportError(
            f"the {kind} {entry['name']} is {entry['dtype']}, which Triton does not have"
        )
    dims = ", ".join(str(size) if isinstance(size, int) else "-1" for size in shape)
    lines = [f"{kind} [", "  {", f"    name: {json.dumps(name)}", f"    data_type: {data_type}"]
    if shape:
        lines.append(f"    dims: [ {dims} ]")
    else:  # a configuration has at least one dimension
        lines += ["    dims: [ 1 ]", "    reshape: { shape: [ ] }"]
    return [*lines, "  }", "]"]


def _batch_axis(contract: dict[str, Any]) -> str | None:
    """The axis along which Triton may join requests: dimension 0 of all tensors, each row of which is
    computed alone. None if there is none."""
    first = {
        str(entry["shape"][0]) if entry["shape"] else ""
        for entry in (*contract["inputs"], *contract["outputs"])
    }
    axis = first.pop() if len(first) == 1 else ""
    known = axis in contract["axes"] and contract["axes"][axis]["minimum"] <= 1
    repeated = any(
        axis in str(size)
        for entry in (*contract["inputs"], *contract["outputs"])
        for size in entry["shape"][1:]
    )
    return axis if known and not repeated and contract["rows_independent"] else None


SERVER = Triton()
