"""Programs under `torchport run`, and the words of a device-side assert."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

TORCHPORT = Path(sys.executable).with_name("torchport")

TEXT = """CUDA error: device-side assert triggered
Search for `cudaErrorAssert' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.
"""
LINE = re.compile(
    r"^/pytorch/aten/src/ATen/native/cuda/(\w+\.(?:cu|h)):(\d+:|) (\S+): block: \[\d+,\d+,\d+\], "
    r"thread: \[\d+,\d+,\d+\] Assertion `(.*)` failed\.$",
    re.M,
)

Run = Callable[..., subprocess.CompletedProcess]


def run_in(
    folder: Path,
    code: str,
    *options: str,
    args: Sequence[str] = (),
    check: bool = True,
    **env: str,
) -> subprocess.CompletedProcess:
    """The program under `torchport run` in the folder, ended."""
    path = folder / "program.py"
    path.write_text(code)
    settings = {k: v for k, v in os.environ.items() if not k.startswith("TORCHPORT_")}
    done = subprocess.run(
        [TORCHPORT, "run", "-q", *options, path.name, *args],
        cwd=folder,
        env=settings | {"OMP_NUM_THREADS": "1", **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


AT_ONCE = """
import torch, torch.nn.functional as F
x = torch.arange(6.0, device="cuda").reshape(2, 3)
bad = torch.tensor([1, 7], device="cuda")
"""
