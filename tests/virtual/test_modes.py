"""What modes of Python see of virtual devices: the operators of the program and no others."""

import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

Run = Callable[..., subprocess.CompletedProcess]

pytestmark = pytest.mark.devices("cuda:2")


class Seen(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # As PyTorch's sanitizer does. torch.cuda begins to use the devices under a lock, so that an
        # operator of the beginning would wait for itself here.
        torch.cuda.current_stream()
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_questions_about_devices_are_no_operators() -> None:
    torch.cuda.init()
    with Seen() as seen:
        stream = torch.cuda.Stream()
        with torch.cuda.device(1), torch.cuda.stream(stream):
            torch.cuda.current_device()
        torch.cuda.Event().record()
        torch.cuda.synchronize()
        torch.cuda.manual_seed(3)
        torch.cuda.empty_cache()
        torch.cuda.memory_allocated()
        torch.cuda.get_device_properties(0)
        tensor = torch.ones(2, device="cuda")
        tensor.add_(1)
    assert seen.names == ["aten.ones.default", "aten.add_.Tensor"]


def test_a_mode_that_is_there_before_the_devices_are_used(run_virtual: Run) -> None:
    code = """
import faulthandler
faulthandler.dump_traceback_later(60, exit=True)
import torch
print(torch.ones(3, device="cuda").sum().item())
"""
    done = run_virtual(code, TORCH_CUDA_SANITIZER="1")
    assert done.stdout.strip() == "3.0"
