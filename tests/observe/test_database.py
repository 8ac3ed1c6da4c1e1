"""Watching changes nothing: PyTorch's own operators give what they give, and the same gradients."""

from __future__ import annotations

import json
from pathlib import Path


def test_operators_are_what_they_are(python) -> None:
    done = python("-W", "ignore", Path(__file__).parent / "programs/database.py")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["differing"] == {}
    assert told["ran"] >= 600
