"""torch.compile with inductor on kinds of devices other than CUDA."""

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


@pytest.mark.long
@pytest.mark.parametrize("kind", ["xpu", "mps", "npu"])
def test_inductor_on_other_kinds(run_virtual, tmp_path: Path, kind: str) -> None:
    run_virtual(OTHER_KIND, devices=kind, args=[kind], TORCHINDUCTOR_CACHE_DIR=str(tmp_path))
