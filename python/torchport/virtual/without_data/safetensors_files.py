"""Tensors of safetensors files that go to a device without data: the files are mapped, not read."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from torchport.virtual import without_data

FRAMEWORKS = ("pt", "torch", "pytorch")


def install(module: ModuleType) -> None:
    """Called with the module safetensors after it is imported."""
    if without_data.wanted():
        vars(module)["safe_open"] = mapping(vars(module)["safe_open"])


def mapping(opens: Any) -> type:
    """The class in the place of safetensors.safe_open, which has its methods and arguments."""

    class safe_open:
        """Opens a file for the host, and moves what is asked for to the device."""

        def __new__(cls, filename: Any, framework: str, *args: Any, **named: Any) -> Any:
            if framework not in FRAMEWORKS:
                return opens(filename, framework, *args, **named)
            return super().__new__(cls)

        def __init__(
            self, filename: Any, framework: str, device: Any = "cpu", **named: Any
        ) -> None:
            import torch

            named.pop("backend", None)  # "pread" would read
            self._device = torch.device(device)
            self._opened = opens(filename, framework, device="cpu", **named)
            # Its slices are views of a file that is mapped, which are moved.
            self._sliced = opens(filename, framework, device=device, **named)

        def get_tensor(self, name: str) -> Any:
            return self._opened.get_tensor(name).to(self._device)

        def get_tensors(self) -> dict[str, Any]:
            return {name: self.get_tensor(name) for name in self._opened.keys()}  # noqa: SIM118

        def get_slice(self, name: str) -> Any:
            return self._sliced.get_slice(name)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._opened, name)

        def __enter__(self) -> Any:
            self._opened.__enter__()
            self._sliced.__enter__()
            return self

        def __exit__(self, *error: Any) -> None:
            self._opened.__exit__(*error)
            self._sliced.__exit__(*error)

    return safe_open
