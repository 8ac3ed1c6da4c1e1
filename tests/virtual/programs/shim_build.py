"""The build of torch that is answered for: its CUDA, its cuDNN, its kernels."""

import sys

import torch

cuda, number, cudnn, bf16 = sys.argv[1:]
assert torch.backends.cuda.is_built() and torch.backends.cudnn.is_available()
assert torch.version.cuda == cuda
assert torch._C._cuda_getCompiledVersion() == int(number)
assert torch.backends.cudnn.version() == int(cudnn)
assert "sm_{}{}".format(*torch.cuda.get_device_capability()) in torch.cuda.get_arch_list()
assert str(torch.cuda.is_bf16_supported(including_emulation=False)) == bf16
torch.backends.cudnn.benchmark_limit = 3
with torch.backends.cudnn.flags(enabled=False, deterministic=True):
    assert not torch.backends.cudnn.enabled
assert torch.backends.cudnn.enabled and torch.backends.cudnn.benchmark_limit == 3
if hasattr(torch.backends.cuda, "cublas_workspace_size"):  # since torch 2.13
    size = torch.backends.cuda.cublas_workspace_size()
    assert torch.backends.cuda.cublas_workspace_size(1 << 20) == 1 << 20
    torch._C._cuda_resetCublasWorkspaceSize()
    assert torch.backends.cuda.cublas_workspace_size() == size
torch.cuda.tunable.enable(False)
torch.cuda.tunable.set_filename("results.csv", insert_device_ordinal=True)
assert torch.cuda.tunable.get_filename() == "results0.csv" and not torch.cuda.tunable.is_enabled()
torch.nn.LSTM(2, 3).cuda().flatten_parameters()
