"""What programs do with operators beyond calling them: torch.func, hooks, checkpoints, scripts,
graphs. Values and errors are the CPU's, devices of results the virtual ones."""

from __future__ import annotations

from pathlib import Path

import pytest

OTHER_KIND = """
import sys
import torch
import torch.nn.functional as F

def call(x, w):
    return F.rms_norm(x, [8], w).sin().sum()

x, w = (torch.rand(n, device=sys.argv[1], requires_grad=True) for n in ((3, 8), (8,)))
want = torch.autograd.grad(call(x, w), (x, w))
got = torch.autograd.grad(torch.compile(call)(x, w), (x, w))
for mine, other in zip(got, want):
    assert mine.device == x.device
    torch.testing.assert_close(mine, other)
"""


def test_functional_transforms(run_virtual) -> None:
    run_virtual(Path("functional.py"))


def test_autograd(run_virtual) -> None:
    run_virtual(Path("autograd.py"))


def test_scripts(run_virtual) -> None:
    run_virtual(Path("scripted.py"))


def test_graphs(run_virtual) -> None:
    run_virtual(Path("graphs_of_ops.py"), timeout=240)


def test_inductor(run_virtual, tmp_path: Path) -> None:
    run_virtual(Path("inductor.py"), timeout=400, TORCHINDUCTOR_CACHE_DIR=str(tmp_path))


@pytest.mark.parametrize("kind", ["xpu", "mps"])
def test_inductor_on_other_kinds(run_virtual, tmp_path: Path, kind: str) -> None:
    run_virtual(OTHER_KIND, devices=kind, args=[kind], TORCHINDUCTOR_CACHE_DIR=str(tmp_path))
