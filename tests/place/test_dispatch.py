"""@torchport.kernel: the implementation is chosen by the device of the tensors."""

from __future__ import annotations

import re

import pytest
import torch
import torchport

pytestmark = pytest.mark.devices("cuda:2")


@torchport.kernel("cuda", "mps")
def contrast(x: torch.Tensor, other: object = None, *, device: object = None) -> str:
    """Local contrast."""
    return "fast"


@contrast.fallback
def _(x: torch.Tensor, other: object = None, *, device: object = None) -> str:
    return "plain"


@torchport.kernel("cuda")
def only_cuda(x: torch.Tensor) -> str:
    return "cuda"


def test_the_device_of_the_tensors_decides() -> None:
    assert contrast(torch.ones(1, device="cuda")) == "fast"
    assert contrast(torch.ones(1)) == "plain"
    assert contrast(torch.ones(1, device="meta")) == "plain"
    assert contrast([{"x": torch.ones(1, device="cuda:1")}]) == "fast"
    assert contrast(3, device="cuda") == "fast"
    assert contrast.__doc__ == "Local contrast." and contrast.kinds == ("cuda", "mps")


def test_a_scalar_on_the_cpu_goes_with_any_device() -> None:
    assert contrast(torch.ones(2, device="cuda"), torch.tensor(2.0)) == "fast"
    assert contrast(torch.tensor(2.0), torch.ones(2)) == "plain"


def test_what_is_missing_is_told_with_what_there_is() -> None:
    with pytest.raises(
        NotImplementedError, match=re.escape("only_cuda has no kernel for cpu (x on cpu)")
    ) as caught:
        only_cuda(torch.ones(1))
    assert "dispatch.py:" in str(caught.value)
    assert '.kernel("cpu")' in str(caught.value)
    with pytest.raises(NotImplementedError, match="no kernel for xpu"):
        only_cuda.implementation("xpu")
    with pytest.raises(
        RuntimeError, match=re.escape("several device kinds: x on cuda:0 and other['m'][0] on cpu")
    ):
        contrast(torch.ones(2, device="cuda"), {"m": [torch.ones(2)]})
    with pytest.raises(TypeError, match="neither a tensor nor a device"):
        contrast(3)


def test_wrong_declarations_are_refused() -> None:
    with pytest.raises(ValueError, match="'gpu' is not a device kind"):
        torchport.kernel("gpu")(lambda x: x)
    with pytest.raises(ValueError, match=re.escape("kernel() needs device kinds")):
        torchport.kernel()(lambda x: x)
    with pytest.raises(TypeError, match=re.escape('@torchport.kernel("cuda")')):
        torchport.kernel(lambda x: x)
    with pytest.raises(ValueError, match="contrast already has a kernel for cuda, at"):
        contrast.kernel("cuda")(lambda x: x)
    with pytest.raises(ValueError, match="already has a fallback"):
        contrast.fallback(lambda x: x)


def test_implementations_can_stand_alone_and_on_methods() -> None:
    class Layer:
        @torchport.kernel("cuda")
        def run(self, x: torch.Tensor) -> str:
            return "fast"

        @run.kernel("cpu")
        def run_plain(self, x: torch.Tensor) -> str:
            return "plain"

    assert Layer().run(torch.ones(1)) == "plain"
    assert Layer().run(torch.ones(1, device="cuda")) == "fast"
    assert Layer().run_plain(torch.ones(1, device="cuda")) == "plain"


def test_it_compiles() -> None:
    @torchport.kernel("cuda")
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    @double.fallback
    def _(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    compiled = torch.compile(lambda x: double(x) + 1, backend="eager", fullgraph=True)
    assert compiled(torch.ones(1)).item() == 3
    assert compiled(torch.ones(1, device="cuda")).item() == 4
