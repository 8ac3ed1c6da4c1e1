"""How CUDA programs are compiled here: `make test` says -O1, because most of these tests check results."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

# Their subject is what the compiler is told and makes of it; the recorded programs do what C++ leaves open,
# such as shifts by more bits than there are, and what comes of it depends on the optimization.
OWN_FLAGS = ("test_nvcc", "test_phases", "test_recorded_programs")


@pytest.fixture(autouse=True, scope="module")
def nvcc_flags(request: pytest.FixtureRequest) -> Iterator[None]:
    """Flags for every nvcc that the module starts; a program's own -O, which stands behind them, counts."""
    flags = os.environ.get("TORCHPORT_TEST_NVCC_FLAGS", "")
    with pytest.MonkeyPatch.context() as patch:
        if flags and request.path.stem not in OWN_FLAGS:
            patch.setenv("NVCC_PREPEND_FLAGS", flags)
        yield
