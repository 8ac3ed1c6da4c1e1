"""Models of other people's libraries, from a checkpoint to the answers of torchport-infer. Libraries
that are not installed are skipped: see deps/programs.txt and `make test-programs`.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

PROGRAM = Path(__file__).parent / "programs" / "library_models.py"
STANDINS = Path(__file__).parents[2] / "virtual" / "standins"  # what timm asks of torchvision


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(package) is None, reason=f"{package} is not installed")


@pytest.mark.parametrize(
    "name, path",
    [
        pytest.param("resnet50", [STANDINS], marks=needs("timm")),
        pytest.param("vit", [STANDINS], marks=needs("timm")),
        pytest.param("convnext", [STANDINS], marks=needs("timm")),
        pytest.param("bert", [], marks=needs("transformers")),
        pytest.param("gpt2", [], marks=needs("transformers")),
    ],
)
def test_library_models_come_through_to_infer(name, path, python, infer, tmp_path):
    paths = ":".join(map(str, path))
    python(PROGRAM, name, ".", env={"PYTHONPATH": paths, "HF_HUB_OFFLINE": "1"}, timeout=500)
    wanted = load_file(tmp_path / "wanted.safetensors")["wanted"]
    for artefact in ("model.onnx", "model.pt"):
        infer(artefact, "inputs.safetensors", "-o", "out.safetensors", "--batch-size", 2)
        (got,) = load_file(tmp_path / "out.safetensors").values()
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-5)
