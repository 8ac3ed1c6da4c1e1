"""CUDA_VISIBLE_DEVICES, of four devices: how many are left."""

import os
import sys

import pytest
import torch

if len(sys.argv) > 2:  # set by the program itself, in time
    os.environ["CUDA_VISIBLE_DEVICES"] = sys.argv[2]
count = int(sys.argv[1])
assert torch.cuda.device_count() == count, torch.cuda.device_count()
assert torch.cuda.is_available() == (count > 0)
if count:
    assert torch.ones(1, device=f"cuda:{count - 1}").is_cuda
    beyond = f"cuda:{count}"
    with pytest.raises(torch.AcceleratorError, match="invalid device ordinal"):
        torch.ones(1, device=beyond)
else:
    with pytest.raises(RuntimeError, match="No CUDA GPUs are available"):
        torch.ones(1).cuda()
os.environ["CUDA_VISIBLE_DEVICES"] = "0"  # too late
if count:
    assert torch.cuda.device_count() == count
