"""gpu_required and retry_on_cpu."""

from __future__ import annotations

import re

import pytest
import torch
import torchport
from torch import nn

pytestmark = pytest.mark.devices("cuda:2", None, memory="256MiB")


GPU = torch.cuda.is_available()
on_a_gpu = pytest.mark.skipif(not GPU, reason="there is no GPU")


def no_kernel(x: torch.Tensor) -> torch.Tensor:
    """As the dispatcher says it: virtual devices would run the CPU's kernel."""
    raise NotImplementedError(
        "Could not run 'missing::twice' with arguments from the 'CUDA' backend.\nThis could be"
    )


_library = torch.library.Library("missing", "DEF")
_library.define("twice(Tensor x) -> Tensor")
_library.impl("twice", lambda x: x + x, "CPU")
_library.impl("twice", no_kernel, "CUDA")


@torchport.kernel("cpu")
def cpu_only(x: torch.Tensor) -> torch.Tensor:
    return x * 3


@torchport.gpu_required
def anywhere() -> str:
    """Trains."""
    return "ran"


@torchport.gpu_required("xpu")
def on_xpu() -> str:
    return "ran"


def test_a_guard_tells_what_is_missing() -> None:
    assert anywhere.__doc__ == "Trains."
    if GPU:
        assert anywhere() == "ran" and torchport.require_gpu() == torch.device("cuda:0")
        assert torchport.require_gpu("cuda:1") == torch.device("cuda:1")
        with pytest.raises(torchport.GpuRequired, match="cuda:7: there are 2 cuda devices"):
            torchport.require_gpu("cuda:7")
    else:
        with pytest.raises(
            torchport.GpuRequired, match=re.escape("anywhere() needs a GPU (cuda,mps,xpu,npu)")
        ) as caught:
            anywhere()
        assert "cuda: this torch (" in str(caught.value)
        assert "run --devices" in str(caught.value)
    with pytest.raises(
        torchport.GpuRequired, match=re.escape("on_xpu() needs a GPU (xpu)")
    ) as caught:
        on_xpu()
    assert "xpu: this torch" in str(caught.value)
    assert "without xpu" in str(caught.value)
    with pytest.raises(ValueError, match='"gpu" is not a device'):
        torchport.require_gpu("gpu")


@on_a_gpu
def test_missing_operators_are_retried(caplog: pytest.LogCaptureFixture) -> None:
    @torchport.retry_on_cpu
    def run(batch: dict[str, list[torch.Tensor]], scale: float) -> dict[str, torch.Tensor]:
        return {"y": torch.ops.missing.twice(batch["x"][0]) * scale}

    x = torch.ones(3, device="cuda:1")
    y = run({"x": [x]}, scale=2.0)["y"]
    assert y.device == x.device and y.tolist() == [4.0] * 3
    assert (
        len(caplog.messages) == 1
        and ".run() used an operator that the device does not have" in caplog.messages[0]
    )
    assert "missing::twice" in caplog.messages[0]
    run({"x": [x.cpu()]}, scale=2.0)
    assert len(caplog.messages) == 1
    assert torchport.retry_on_cpu(cpu_only)(x).tolist() == [3.0] * 3
    assert "cpu_only has no kernel for cuda" in caplog.messages[1]


@on_a_gpu
def test_a_module_out_of_memory_runs_on_the_cpu(caplog: pytest.LogCaptureFixture) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(4)
            self.linear = nn.Linear(4, 4)
            self.tied = self.linear

        @torchport.retry_on_cpu
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            big = torch.zeros(1 << 28, dtype=torch.float32, device=x.device)  # 1 GiB of 256 MiB
            return self.tied(self.norm(x)) + big[0]

    torch.manual_seed(0)
    here, there = Net(), Net().cuda()
    there.load_state_dict(here.state_dict())
    x = torch.randn(6, 4)
    before = torch.cuda.memory_allocated()
    want, got = here(x), there(x.cuda())
    assert (
        got.is_cuda
        and len(caplog.messages) == 1
        and "Net.forward() ran out of memory" in caplog.messages[0]
    )
    torch.testing.assert_close(got.cpu(), want)
    assert torch.cuda.memory_allocated() - before < 4096
    want.square().sum().backward()
    got.square().sum().backward()
    for one, two in zip(here.parameters(), there.parameters(), strict=True):
        assert two.grad.is_cuda
        torch.testing.assert_close(two.grad.cpu(), one.grad)
    torch.testing.assert_close(there.norm.running_mean.cpu(), here.norm.running_mean)
    assert there.norm.num_batches_tracked.item() == 1


def test_other_errors_pass() -> None:
    calls = []

    @torchport.retry_on_cpu
    def abstract() -> None:
        calls.append(1)
        raise NotImplementedError("a subclass has to")

    with pytest.raises(NotImplementedError, match="a subclass has to"):
        abstract()
    assert calls == [1]

    @torchport.retry_on_cpu(out_of_memory=False)
    def full() -> None:
        calls.append(2)
        raise torch.OutOfMemoryError("CUDA out of memory. Tried")

    with pytest.raises(torch.OutOfMemoryError):
        full()
    assert calls == [1, 2]

    @torchport.retry_on_cpu
    def always(x: torch.Tensor) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried")

    with pytest.raises(torch.OutOfMemoryError) as caught:
        always(torch.ones(1))
    assert isinstance(caught.value.__cause__, torch.OutOfMemoryError)


def test_it_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    @torchport.retry_on_cpu
    def full() -> None:
        calls.append(1)
        raise torch.OutOfMemoryError("CUDA out of memory. Tried")

    monkeypatch.setenv("TORCHPORT_RETRY_ON_CPU", "0")
    with pytest.raises(torch.OutOfMemoryError):
        full()
    assert len(calls) == 1
