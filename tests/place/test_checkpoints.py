"""How much memory it takes to load a checkpoint."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize("name", ["model.pt", "model.safetensors"])
def test_one_copy_is_held_at_any_time(run_program, tmp_path, name):
    run_program("load_peak.py", tmp_path / name, "make")
    found = json.loads(run_program("load_peak.py", tmp_path / name, "cpu").stdout)
    # A layer in double for the sum comes on top of it.
    assert found["host"] - 8 * 1024 * 1024 <= 1.05 * found["size"]
    # The device's memory is host memory here: the model, and one storage on its way.
    device = "cuda:1,memory=1GiB"
    found = json.loads(
        run_program("load_peak.py", tmp_path / name, "cuda:0", devices=device).stdout
    )
    assert found["device"] <= 1.05 * found["size"] + 8 * 1024 * 1024
    assert found["host"] <= 1.15 * found["size"]
