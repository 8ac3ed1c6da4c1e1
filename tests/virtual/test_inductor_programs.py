"""Programs with torch.compile on virtual devices, each in a Python of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment with a cache of inductor's, which holds compiled headers, too."""
    return {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path_factory.mktemp("inductor"))}


@pytest.mark.long
def test_a_language_model(run_virtual, cache: dict[str, str]) -> None:
    run_virtual(Path("compiled_gpt.py"), devices="cuda:1", timeout=400, **cache)


ASSERTS = """
import sys
import torch

table = torch.rand(10, 4, device="cuda")
numbers = torch.zeros(20_000, dtype=torch.long, device="cuda")
look_up = torch.compile(lambda i: torch.nn.functional.embedding(i, table) * 2)
assert torch.equal(look_up(numbers), table[numbers] * 2)
numbers[7000] = 11
try:
    out = look_up(numbers)
    print("started", tuple(out.shape))
    torch.cuda.synchronize()
except RuntimeError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("errors", [pytest.param("device", marks=pytest.mark.long), "at-once"])
def test_an_index_out_of_range(run_virtual, cache: dict[str, str], errors: str) -> None:
    # Several threads: what inductor's code throws in one of them would end the process.
    done = run_virtual(
        ASSERTS,
        devices="cuda:1",
        OMP_NUM_THREADS="2",
        TORCHPORT_ERRORS=errors,
        **cache,
    )
    condition = "index out of bounds: 0 <= tmp\\d+ < 10"
    if errors == "at-once":
        assert re.match(f"RuntimeError .*{condition}", done.stdout)
        return
    assert done.stdout.startswith(
        "started (20000, 4)\nAcceleratorError CUDA error: device-side assert triggered\n"
    )
    assert re.search(
        rf"^/\S+\.py: unknown: block: \[0,0,0\], thread: \[0,0,0\] Assertion `{condition}` failed\.$",
        done.stderr,
        re.M,
    )
    assert re.search(
        rf"it happened at \S+program\.py:\d+, in compiled \w+ on cuda:0: {condition}\.", done.stderr
    )


SMALL = """
import torch

x = torch.rand(32, 32, device="cuda")
torch.testing.assert_close(torch.compile(torch.mm, mode="max-autotune")(x, x), x @ x)
"""


@pytest.mark.parametrize(("profile", "warns"), [("t4", True), ("a100-80g", False)])
def test_a_device_of_few_multiprocessors(
    run_virtual, cache: dict[str, str], profile: str, warns: bool
) -> None:
    done = run_virtual(
        SMALL,
        devices=f"cuda:1,profile={profile}",
        **cache,
    )
    assert ("Not enough SMs to use max_autotune_gemm mode" in done.stderr) == warns
