"""AOTInductor and cpp_wrapper on virtual devices: the code around the kernels is C++, too.

The kernels are C++ for the host, as `torch.compile` has them (see compiling.py). The code around them
is that which inductor generates for the CPU, but tensors are made on the virtual device and operators
are called through PyTorch's dispatcher (src/runtime/virtual/aot). What was compiled needs torchport's
runtime, and is refused by the loader without it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

from torchport.virtual import inductor_names
from torchport.virtual.torch_c_shim._native import ops, refuse

_GENERATED_CODE = Path(__file__).parents[1] / "lib/source/src/runtime/virtual/aot/generated_code.h"
# The devices whose C functions AOTInductor's headers declare, and which its runtime knows by name.
KINDS = ("cuda",)


PACKAGED = (
    "AOTInductor and cpp_wrapper",
    "they compile for a real device's runtime; use torch.compile or torch.export.save",
)
_OF_REAL_DEVICES = (
    "packages of AOTInductor for real devices",
    "they call the real device's runtime; compile the model again under torchport",
)


def install(device: str) -> None:
    """Lets what was compiled for this type of device be loaded, and what was compiled for a real one
    be refused by its name. Call it once."""
    import torch

    _replace_loader(torch, device)
    if device in KINDS:
        ops().register_model_runner(device)
        name = f"AOTIModelContainerRunner{device.capitalize()}"
        setattr(torch._C._aoti, name, type(name, (_Runner,), {"_device": device}))


def _replace_loader(torch: ModuleType, device: str) -> None:
    base = torch._C._aoti.AOTIModelPackageLoader

    class AOTIModelPackageLoader(base):  # type: ignore[misc, valid-type]
        def __init__(
            self,
            model_package_path: str,
            model_name: str = "model",
            run_single_threaded: bool = False,
            num_runners: int = 1,
            device_index: int = -1,
        ) -> None:
            current = getattr(torch, device).current_device if device in KINDS else None
            self._torchport_index = device_index
            if device_index < 0 and current is not None:
                self._torchport_index = current()
            try:
                super().__init__(
                    model_package_path, model_name, run_single_threaded, num_runners, device_index
                )
            except RuntimeError as error:
                if f"device key found: {device}" in str(error):
                    refuse(*PACKAGED)
                if device in KINDS and "dlopen" in str(error):
                    refuse(*_OF_REAL_DEVICES)
                raise

        def load_constants(self, *given: Any, **named: Any) -> None:
            # Memory that is not the allocator's is the current device's.
            module = getattr(torch, device) if device in KINDS else None
            guard = module.device(self._torchport_index) if module else nullcontext()
            with guard:
                super().load_constants(*given, **named)

    torch._C._aoti.AOTIModelPackageLoader = AOTIModelPackageLoader


class _Runner:
    """Runs a library that was compiled for a virtual device; it is not in a package. The methods are
    those of `torch._C._aoti.AOTIModelContainerRunnerCuda`."""

    _device = ""

    def __init__(
        self, model_so_path: str, num_models: int, device: str = "", cubin_dir: str = ""
    ) -> None:
        import torch

        self._model = torch.classes.torchport.LoadedModel(
            model_so_path, num_models, device or self._device, cubin_dir
        )

    def run(self, inputs: Sequence[Any], stream_handle: Any = None) -> list[Any]:
        return list(self._model.run(list(inputs)))

    def update_constant_buffer(
        self,
        tensor_map: dict[str, Any],
        use_inactive: bool,
        validate_full_updates: bool,
        user_managed: bool = False,
    ) -> None:
        self._model.update_constant_buffer(
            dict(tensor_map), use_inactive, validate_full_updates, user_managed
        )

    def extract_constants_map(self, use_inactive: bool) -> dict[str, Any]:
        return dict(self._model.extract_constants_map(use_inactive))

    def get_constant_names_to_original_fqns(self) -> dict[str, str]:
        return dict(self._model.get_constant_names_to_original_fqns())

    def get_constant_names_to_dtypes(self) -> dict[str, int]:
        return dict(self._model.get_constant_names_to_dtypes())

    def get_call_spec(self) -> list[str]:
        return list(self._model.get_call_spec())

    def swap_constant_buffer(self) -> None:
        self._model.swap_constant_buffer()

    def free_inactive_constant_buffer(self) -> None:
        self._model.free_inactive_constant_buffer()


def compile_for_the_host(device: str) -> None:
    """Replaces the options that code for a GPU is compiled and linked with: its libraries. Call it
    once, when inductor's modules are there."""
    from torch._inductor import cpp_builder

    base = cpp_builder.CppTorchDeviceOptions

    class CppTorchDeviceOptions(base):  # type: ignore[misc, valid-type]
        def __init__(self, *given: Any, **named: Any) -> None:
            if named.get("device_type") == device:
                named["device_type"] = "cpu"
            super().__init__(*given, **named)

    inductor_names.replace(base, CppTorchDeviceOptions)


def code_generator(device: str) -> type:
    """The class that generates the code around kernels for this type of device."""
    from torch._inductor.codegen.common import get_device_op_overrides
    from torch._inductor.codegen.cpp_wrapper_cpu import CppWrapperCpu
    from torch._inductor.virtualized import V

    base: Any = CppWrapperCpu

    class CppWrapperVirtual(base):  # type: ignore[misc]
        prefix: Any

        def __init__(self) -> None:
            self.device = device
            super().__init__()
            self.device_codegen = get_device_op_overrides("cpu")
            self.needs_vec_isa = True

        @staticmethod
        def create(*_: Any, **__: Any) -> CppWrapperVirtual:
            return CppWrapperVirtual()

        @staticmethod
        def get_device_include_path(asked: str) -> str:  # until torch 2.12
            return str(base.get_device_include_path("cpu"))

        @staticmethod
        def get_device_include_path_jit(asked: str) -> str:
            return str(base.get_device_include_path_jit("cpu"))

        @staticmethod
        def get_device_include_path_aot(asked: str) -> str:
            return str(base.get_device_include_path_aot("cpu"))

        def add_device_include(self, asked: str) -> None:
            if asked == device and asked not in self.included_devices:
                super().add_device_include(asked)
                folder = "torch/csrc/inductor/aoti_torch/generated"
                self.header.writeline(f"#include <{folder}/c_shim_{device}.h>")
                self.header.splice(_GENERATED_CODE.read_text(encoding="utf-8"))
            else:
                super().add_device_include(asked)

        def codegen_inputs(self) -> None:
            # As CppWrapperGpu: the host's code needs no alignment, but the copy and the warning cost.
            if V.graph.aot_mode:
                for number, name in _aligned_inputs(device):
                    self.prefix.splice(_ALIGNS.format(number=number, name=name))
            super().codegen_inputs()

        def generate_end(self, result: Any) -> None:
            # Code that runs at once names the device that it is compiled for.
            self.device = device if V.graph.aot_mode else "cpu"
            super().generate_end(result)
            self.device = device

        def finalize_prefix(self) -> None:
            super().finalize_prefix()
            called = re.findall(rf"\baoti_torch_{device}_(\w+)\(", self.wrapper_call.getvalue())
            prefix = type(self.prefix)()
            for name in sorted(set(called)):
                prefix.splice(_definition(device, name))
            prefix.splice(self.prefix)
            self.prefix = prefix

        def _generate_kernel_call_helper(
            self, name: str, arguments: Any, *, device: Any = None, **rest: Any
        ) -> None:
            where = device or V.graph.get_current_device_or_throw()
            if where.type != self.device:
                super()._generate_kernel_call_helper(name, arguments, device=device, **rest)
            elif rest.get("triton", True):
                refuse("Triton kernels", "there is no GPU that could run them")
            else:
                given = [
                    f"torchport_aoti::pointer<{kind}>({value})"
                    if isinstance(kind, str) and "*" in kind
                    else str(value)
                    for value, kind in zip(arguments, rest["arg_types"], strict=True)
                ]
                index = self._number_of(where)
                call = [name, f'"{name}"', index, *given]
                self.writeline(self.wrap_kernel_call("torchport_aoti::launch", call))

        def _number_of(self, where: Any) -> str:
            number = str(where.index or 0)
            if hasattr(self, "codegen_device_idx"):  # since torch 2.12
                return str(self.codegen_device_idx(where, number))
            return "this->device_idx_" if V.graph.aot_mode else number

    return CppWrapperVirtual


_ALIGNS = """
if ((reinterpret_cast<std::uintptr_t>({name}.data_ptr()) & 15) != 0) {{
    AOTI_TORCH_WARN("Input {number} was compiled as 16-bytes aligned, but it is not aligned at run time. "
        "Copying to an aligned tensor to guarantee correctness, but expect a performance hit.");
    AtenTensorHandle {name}_aligned;
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_clone_preserve_strides({name}, &{name}_aligned));
    {name} = RAIIAtenTensorHandle({name}_aligned);
}}
"""


def _aligned_inputs(device: str) -> list[tuple[int, str]]:
    """The numbers and names of inputs that code for a GPU takes to be aligned, because they were so
    when it was compiled."""
    import torch
    from torch._inductor import config, utils
    from torch._inductor.ir import TensorBox
    from torch._inductor.virtualized import V

    found = []
    for number, given in enumerate(V.graph.example_inputs or ()):
        if not isinstance(given, torch.Tensor) or given.device.type != device:
            continue
        name = V.graph.graph_input_names[number]
        is_aligned = config.assume_aligned_inputs or utils.tensor_is_aligned(given)
        if is_aligned and isinstance(V.graph.graph_inputs.get(name), TensorBox):
            found.append((number, name))
    return found


def _definition(device: str, name: str) -> str:
    """C++ that takes the place of a function for an operator. Code of constants is compiled together
    with that of the model, so each is there once."""
    function = f"aoti_torch_{device}_{name}"
    return f"""
#ifndef {function}
struct torchport_{name}_name {{ static constexpr const char* kText = "{name}"; }};
static constexpr auto torchport_{name} =
    torchport_aoti::Operator<torchport_{name}_name, decltype(&{function})>::call;
#define {function} torchport_{name}
#endif
"""
