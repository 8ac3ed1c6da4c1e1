"""Model repositories for Triton, read with its schema if tritonclient is there (make test-cluster)."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from pathlib import Path

import pytest
import torch
import torchport
from models import Plain
from torch import nn
from torchport.deploy.artefact.servers.triton import config_of

pytestmark = pytest.mark.devices(None)


def parsed(text: str):
    """The configuration by Triton's own schema; None without it."""
    found = importlib.util.find_spec("tritonclient")
    if found is None:
        return None
    from google.protobuf import text_format

    path = Path(found.submodule_search_locations[0], "grpc", "model_config_pb2.py")
    spec = importlib.util.spec_from_file_location("model_config_pb2", path)
    schema = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(schema)
    return text_format.Parse(text, schema.ModelConfig())


def export(folder, **options):
    settings = {"to": "onnx", "dynamic": "batch[1..16]", "server": "triton"} | options
    return torchport.export(Plain().eval(), torch.randn(3, 6), path=folder, **settings)


def test_each_export_is_a_version_with_one_configuration(tmp_path):
    model = tmp_path / "scores"
    first = export(model)
    second = export(model)
    assert first.path == model / "1" / "model.onnx" and second.path == model / "2" / "model.onnx"
    assert sorted(os.listdir(model)) == ["1", "2", "config.pbtxt"]
    assert (
        os.listdir(model / "1") == ["model.onnx"] and os.stat(model / "1").st_mode & 0o777 == 0o755
    )
    text = (model / "config.pbtxt").read_text()
    for line in ('name: "scores"', "max_batch_size: 16", "dims: [ 6 ]", "data_type: TYPE_FP32"):
        assert line in text
    if config := parsed(text):
        assert config.platform == "onnxruntime_onnx" and config.max_batch_size == 16
        (of,) = config.input
        assert (of.name, list(of.dims), of.data_type) == ("x", [6], 11)  # TYPE_FP32
        assert config.HasField("dynamic_batching") and len(config.output) == 1


def test_names_and_batches_follow_the_backend(tmp_path):
    export(tmp_path / "traced", to="torchscript")
    text = (tmp_path / "traced" / "config.pbtxt").read_text()
    assert 'name: "INPUT__0"' in text and 'name: "OUTPUT__0"' in text
    assert 'platform: "pytorch_libtorch"' in text and "max_batch_size: 16" in text
    contract = json.loads(json.dumps(export(tmp_path / "other").contract))
    contract["format"] = "aoti"  # its batches are not joined
    text = config_of("compiled", contract)
    assert "max_batch_size: 0" in text and "dims: [ -1, 6 ]" in text and "torch_aoti" in text
    contract["format"] = "onnx"
    for change in (
        {"rows_independent": False},
        {"axes": {"batch": {"minimum": 2, "maximum": None}}},
    ):
        text = config_of("m", contract | change)
        assert "max_batch_size: 0" in text and "dynamic_batching" not in text
    if config := parsed(text):
        assert list(config.input[0].dims) == [-1, 6]


def test_what_does_not_fit_is_refused_and_leaves_nothing(tmp_path):
    class Wider(nn.Module):
        def forward(self, x):
            return x.to(torch.complex64)

    with pytest.raises(torchport.ExportError, match="Triton runs no pt2 artefacts: export to aoti"):
        export(tmp_path / "m", to="pt2")
    with pytest.raises(torchport.ExportError, match="no server 'x'"):
        export(tmp_path / "m", server="x")
    with pytest.raises(torchport.ExportError, match="there is no folder"):
        export(tmp_path / "a" / "m")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("text")
    with pytest.raises(torchport.ExportError, match=r"has no config\.pbtxt"):
        export(tmp_path / "mine")
    with pytest.raises(torchport.ExportError, match="is complex64, which Triton does not have"):
        torchport.export(
            Wider(), torch.ones(2, 3), to="torchscript", path=tmp_path / "c", server="triton"
        )
    export(tmp_path / "m")
    with pytest.raises(torchport.ExportError, match="describes other inputs or outputs"):
        export(tmp_path / "m", dynamic=())
    assert sorted(os.listdir(tmp_path)) == ["m", "mine"]
    assert sorted(os.listdir(tmp_path / "m")) == ["1", "config.pbtxt"]


def test_the_command_writes_one(tmp_path, monkeypatch):
    from torchport.deploy.artefact.command import main

    monkeypatch.chdir(Path(__file__).parent)
    words = ["models:plain", "--input", "models:rows", "--to", "onnx", "--server", "triton", "-q"]
    assert main([*words, "-o", str(tmp_path / "net")]) == 0
    assert re.search(r'name: "net"', (tmp_path / "net" / "config.pbtxt").read_text())
