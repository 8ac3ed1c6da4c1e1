"""What a user writes with every public name; a type checker reads it, nobody runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_type

import torch
import torchport
from torch import nn
from torchport import backend, build, virtual
from torchport.pytest_plugin import VirtualCuda

virtual.enable("cuda:2", memory="8GiB", profile="a100-80g")
assert_type(virtual.enabled(), bool)
with virtual.visible(1):
    pass
unsupported: type[ImportError] = torchport.UnsupportedTorch

# Where to compute.
choice = torchport.choose_device("cuda,cpu", local_rank=0)
assert_type(choice, torchport.DeviceChoice)
assert_type(choice.refused, list[str])
device = assert_type(torchport.device(), torch.device)
settings = assert_type(torchport.run_profile("ci"), torchport.RunProfile | None)
workers = settings.workers if settings is not None else None
assert_type(workers, int | None)

# Moving.
batch = {"ids": [torch.ones(2)], "size": 2}
moved = assert_type(torchport.to(batch, device, dtype=torch.float16), dict[str, object])
tensor: torch.Tensor = torchport.to(torch.ones(1), "cpu")
array = torchport.numpy(tensor)


@torchport.on_device
def total(x: torch.Tensor, scale: float = 1) -> torch.Tensor:
    return x.sum() * scale


@torchport.on_device(device="cpu")
def largest(x: torch.Tensor) -> torch.Tensor:
    return x.max()


assert_type(total(tensor, scale=2), torch.Tensor)
assert_type(largest(tensor), torch.Tensor)

loader = torchport.loader([tensor, tensor], device, depth=3, thread=False)
assert_type(loader, torchport.Loader[torch.Tensor])
for one in loader:
    assert_type(one, torch.Tensor)

# Modules.
adoption = assert_type(torchport.adopt(nn.Linear(2, 2)), torchport.Adoption)
assert_type(adoption.adopted, list[torchport.Adopted])
criterion = assert_type(torchport.follow_input(nn.CrossEntropyLoss()), nn.CrossEntropyLoss)
net = nn.Linear(2, 2)
shared = assert_type(torchport.shared_parameters(net), torchport.SharedParameters)
with torchport.keep_shared_parameters(net) as before:
    assert_type(before, torchport.SharedParameters)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
found = torchport.check_module(net, criterion, optimizer=optimizer, before=shared)
assert_type(found, list[torchport.ModuleFinding])


class Head(torchport.DeviceModule):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.zeros(2, **self.here).to(self.device, self.dtype)


head = Head()
head.device = torch.device("cpu")

# What torch.cuda has, on the device in use.
backend.empty_cache()
backend.synchronize()
backend.set_device(0)
backend.reset_peak_memory_stats(device)
assert_type(backend.memory_allocated(device), int)
assert_type(backend.max_memory_allocated("cpu"), int)
assert_type(backend.memory_reserved(), int)
assert_type(backend.max_memory_reserved(), int)
assert_type(backend.mem_get_info(), tuple[int, int])
backend.manual_seed(0)
backend.manual_seed_all(0)
backend.set_rng_state(assert_type(backend.get_rng_state(), torch.Tensor), "cpu")
backend.set_rng_state_all(assert_type(backend.get_rng_state_all(), list[torch.Tensor]))
stream = backend.current_stream()


# Checkpoints.
torchport.save(net, "net.safetensors", shards="5GB", metadata={"by": "me"})
same: nn.Module = torchport.load("net.safetensors", into=net, remap_prefixes=True)
report = assert_type(torchport.load_report("net.safetensors", net), torchport.LoadReport)
assert_type(report.missing, list[str])
try:
    torchport.load("absent.pt")
except torchport.CheckpointError as error:
    assert_type(error.report, torchport.LoadReport | None)
assert_type(torchport.unwrap_model(net), nn.Module)
state = torchport.full_state_dict(net, rank0_only=True)

# Several devices.
plan = assert_type(torchport.plan_parallel(net, memory=2**30), torchport.ParallelPlan)
spread = assert_type(torchport.parallelize(net, "ddp", bucket_cap_mb=25), nn.Module)


# Kinds of devices.
@torchport.kernel("cuda")
def contrast(x: torch.Tensor, amount: float) -> torch.Tensor:
    return x * amount


@contrast.fallback
def _plain(x: torch.Tensor, amount: float) -> torch.Tensor:
    return x * amount


assert_type(contrast(tensor, 2), torch.Tensor)


@torchport.gpu_required
def train(epochs: int) -> float:
    return epochs / 2


@torchport.gpu_required("cuda,xpu")
def train_there(epochs: int) -> float:
    return epochs / 2


@torchport.retry_on_cpu
def spectrum(x: torch.Tensor) -> torch.Tensor:
    return x.abs()


@torchport.retry_on_cpu(out_of_memory=False)
def spectrum_again(x: torch.Tensor) -> torch.Tensor:
    return x.abs()


assert_type(train(2), float)
assert_type(train_there(2), float)
assert_type(spectrum(tensor), torch.Tensor)
assert_type(spectrum_again(tensor), torch.Tensor)
try:
    gpu = torchport.require_gpu("cuda", what="training")
except torchport.GpuRequired as missing:
    assert_type(missing.refused, list[str])

# From a model to an artefact.
torchport.require_same_device(x=tensor, mask=None)
result = assert_type(torchport.verify(net, tensor, device="cuda"), torchport.Verification)
assert_type(result.ok, bool)
lenient = torchport.verify(net, tensor, fail_on="error", libraries=True)
enforced = assert_type(torchport.enforce(net, device="cuda", grad=True), torchport.Enforced)
assert_type(enforced.device, torch.device | None)
enforced.remove()
with torchport.enforce(net, evaluate=False):
    net(tensor)
try:
    done = torchport.export(net, tensor, to="onnx", path="net.onnx", dynamic="batch")
    assert_type(done, torchport.Exported)
except torchport.NotVerified as different:
    refused: torchport.ExportError = different
measured = torchport.benchmark("net:make", "net:inputs", modes=["eval"])
assert_type(measured, torchport.BenchmarkReport)
assert_type(measured.row("eval"), torchport.BenchmarkRow)
assert_type(measured.row("eval").peak, int)
with torchport.timed("forward", device="cuda:1", log="times.jsonl", fields={"epoch": 1}) as timing:
    pass
assert_type(timing.seconds, float | None)


@torchport.timed("step")
def timed_step(batch: torch.Tensor, rate: float) -> float:
    return rate


assert_type(timed_step(tensor, 0.1), float)
assert_type(torchport.__version__, str)

# Building extensions.
decided = assert_type(build.plan(), build.Plan)
assert_type(decided.outcome, str)
extension = assert_type(build.extension("pkg._C", ["ops.cpp", "ops.cu"]), build.TorchExtension)
command = build.BuildExtension
cmake = build.cmake_dir()
try:
    decided.require()
except build.BuildRefused as reason:
    text = str(reason)


def test_something(virtual_cuda: VirtualCuda) -> None:
    assert_type(virtual_cuda.devices, list[str])


kernel_type: type[torchport.Kernel[..., torch.Tensor]]
function: Callable[[torch.Tensor, float], torch.Tensor] = contrast
