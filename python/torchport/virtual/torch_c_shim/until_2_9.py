"""What torch._C has for CUDA until torch 2.9."""

from __future__ import annotations

from types import ModuleType
from typing import Any

KINDS = ("cuda",)


def bindings(torch: ModuleType) -> dict[str, Any]:
    def write_file(filename: str) -> bool:
        """Writes the results of TunableOp, of which there are none; returns whether it could."""
        validators = torch._C._cuda_tunableop_get_validators()
        try:
            with open(filename, "w") as file:
                file.writelines(f"Validator,{name},{value}\n" for name, value in validators)
        except OSError:
            return False
        return True

    return {
        "_cuda_tunableop_write_file": write_file,
        "_cuda_tunableop_write_file_on_exit": lambda value: None,
        # Settings of the real allocator; the memory model has none.
        "_cuda_cudaCachingAllocator_set_allocator_settings": lambda text: None,
    }
