"""Other people's models; skipped where they are not installed: see `make test-programs`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

STANDINS = Path(__file__).parents[1] / "virtual" / "standins"

pytestmark = pytest.mark.skipif(
    find_spec("timm") is None or find_spec("transformers") is None,
    reason="timm or transformers is not installed",
)


def test_models_are_spread_over_two_processes(run_program):
    starter = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = run_program("real_models.py", python_args=starter, timeout=400, STANDINS=str(STANDINS))
    assert done.stdout.count("passed: ") == 6, done.stdout + done.stderr
