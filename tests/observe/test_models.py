"""Other people's models. Those that are not installed are skipped: `make test-programs` has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs/with_models.py"
STANDINS = Path(__file__).parents[1] / "virtual/standins"


def needs(package: str) -> pytest.MarkDecorator:
    from importlib.util import find_spec

    return pytest.mark.skipif(find_spec(package) is None, reason=f"{package} is not installed")


def results(python, library: str, **env: str) -> dict[str, dict]:
    done = python("-W", "ignore", PROGRAM, library, devices="cuda:1", **env)
    assert done.returncode == 0, done.stderr
    return {case["case"]: case for case in map(json.loads, done.stdout.splitlines())}


@needs("timm")
def test_timm(python) -> None:
    found = results(python, "timm", PYTHONPATH=str(STANDINS))
    for name, operators in (("resnet50", 175), ("vit", 200), ("convnext", 100)):
        assert found[name]["ok"], found[name]["findings"]
        assert found[name]["operators"] >= operators and found[name]["devices"] == ["cuda:0"]
    assert found["resnet_trains"]["ok"], found["resnet_trains"]["findings"]
    mixed = found["vit_with_its_position_left"]["mixed"]
    assert mixed["culprit"]["name"] == "pos_embed" and mixed["pattern"] == "parameter/buffer"
    assert mixed["line"]["text"].startswith("x = x + pos_embed")


@needs("transformers")
def test_transformers(python) -> None:
    found = results(python, "transformers", HF_HUB_OFFLINE="1")
    for name in ("bert", "gpt2", "gpt2_generates"):
        assert found[name]["mixed"] is None
        assert not [f for f in found[name]["findings"] if f["code"] == "misplaced-tensor"]
    assert {t["op"] for t in found["bert"]["transfers"]} <= {"aten::is_nonzero", "aten::item"}
    kinds = [t["kind"] for t in found["gpt2_generates"]["transfers"]]
    assert "read" in kinds, "generate() asks after each token whether it is done"
    mixed = found["bert_with_its_types_left"]["mixed"]
    assert mixed["culprit"]["name"] == "token_type_ids" and mixed["pattern"] == "model/input"
    assert mixed["module"] == "embeddings.token_type_embeddings"
    mixed = found["gpt2_untied"]["mixed"]
    assert mixed["culprit"]["name"] == "lm_head.weight" and mixed["module"] == "lm_head"
