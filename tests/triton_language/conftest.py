"""What the tests of Triton's kernels share."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

WITHOUT = "Triton is not installed: `make test-triton` has it"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips all tests of this folder, before any process with devices starts for them."""
    if find_spec("triton") is not None:
        return
    for item in items:
        if (
            Path(__file__).parent in item.path.parents
            and item.name != "test_a_program_without_triton_pays_nothing"
        ):
            item.add_marker(pytest.mark.skip(reason=WITHOUT))


@pytest.fixture
def seeded() -> None:
    """The same random numbers in every run; for modules that are marked with `devices`."""
    import torch

    torch.manual_seed(0)
