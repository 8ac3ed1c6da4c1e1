"""@torchport.kernel: the implementation is chosen by the device of the tensors."""

from __future__ import annotations

import torch
import torchport
from checks import check, raises, run_checks


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


@check
def the_device_of_the_tensors_decides() -> None:
    assert contrast(torch.ones(1, device="cuda")) == "fast"
    assert contrast(torch.ones(1)) == "plain"
    assert contrast(torch.ones(1, device="meta")) == "plain"
    assert contrast([{"x": torch.ones(1, device="cuda:1")}]) == "fast"
    assert contrast(3, device="cuda") == "fast"
    assert contrast.__doc__ == "Local contrast." and contrast.kinds == ("cuda", "mps")


@check
def a_scalar_on_the_cpu_goes_with_any_device() -> None:
    assert contrast(torch.ones(2, device="cuda"), torch.tensor(2.0)) == "fast"
    assert contrast(torch.tensor(2.0), torch.ones(2)) == "plain"


@check
def what_is_missing_is_told_with_what_there_is() -> None:
    with raises(
        NotImplementedError,
        "only_cuda has no kernel for cpu (x on cpu)",
        "dispatch.py:",
        '.kernel("cpu")',
    ):
        only_cuda(torch.ones(1))
    with raises(NotImplementedError, "no kernel for xpu"):
        only_cuda.implementation("xpu")
    with raises(RuntimeError, "several device kinds: x on cuda:0 and other['m'][0] on cpu"):
        contrast(torch.ones(2, device="cuda"), {"m": [torch.ones(2)]})
    with raises(TypeError, "neither a tensor nor a device"):
        contrast(3)


@check
def wrong_declarations_are_refused() -> None:
    with raises(ValueError, "'gpu' is not a device kind"):
        torchport.kernel("gpu")(lambda x: x)
    with raises(ValueError, "kernel() needs device kinds"):
        torchport.kernel()(lambda x: x)
    with raises(TypeError, '@torchport.kernel("cuda")'):
        torchport.kernel(lambda x: x)
    with raises(ValueError, "contrast already has a kernel for cuda, at"):
        contrast.kernel("cuda")(lambda x: x)
    with raises(ValueError, "already has a fallback"):
        contrast.fallback(lambda x: x)


@check
def implementations_can_stand_alone_and_on_methods() -> None:
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


@check
def it_compiles() -> None:
    @torchport.kernel("cuda")
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    @double.fallback
    def _(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    compiled = torch.compile(lambda x: double(x) + 1, backend="eager", fullgraph=True)
    assert compiled(torch.ones(1)).item() == 3
    assert compiled(torch.ones(1, device="cuda")).item() == 4


run_checks()
