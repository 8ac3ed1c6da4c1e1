"""torch.compile with inductor on virtual devices: it generates C++ code for the host.

Inductor generates C++ for graphs on the CPU and Triton for graphs on a GPU. The bytes of a virtual
device are host memory, so the C++ code works on it. Therefore the device is removed from inductor's
list of GPUs and gets the CPU's code generator. Buffers, and operators that inductor does not
generate, stay on the device.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import ModuleType
from typing import Any

from torchport.virtual import aot_inductor, compiled_interface, inductor_names, without_data
from torchport.virtual.torch_c_shim._native import kind, refuse, refusing


def install(common: ModuleType) -> None:
    """Called with the module torch._inductor.codegen.common after it is imported."""
    device = kind()
    if device == "none":
        return
    import torch
    from torch._inductor import config, utils
    from torch.utils import _triton

    if device in utils.GPU_TYPES:
        utils.GPU_TYPES.remove(device)
    # A build with CUDA includes Triton, and inductor would ask it for the driver.
    if hasattr(config, "triton_disable_device_detection"):  # since torch 2.10
        config.triton_disable_device_detection = True
    # Optimizations ask for this name where they have kernels of Triton only: an online softmax.
    if hasattr(config, f"{device}_backend"):
        setattr(config, f"{device}_backend", "cpp")
    _triton.has_triton.cache_clear()
    setattr(torch._C._dynamo.guards, f"_empty_strided_{device}", _empty_strided(torch, device))
    _register_with_others(common, device)
    compiled_interface.install(device)
    aot_inductor.install(device)


def _empty_strided(torch: ModuleType, device: str) -> Any:
    def empty_strided(size: Any, stride: Any, dtype: Any) -> Any:
        return torch.empty_strided(size, stride, dtype=dtype, device=device)

    return empty_strided


def _keep_triton_operators() -> None:
    """An operator of torch.library.triton_op stays one call in a graph, as for torch.export: its kernels
    would become a part that only Triton's code generator can write."""
    from torch.export import _trace

    if hasattr(_trace, "custom_triton_ops_decomposition_disabled"):
        vars(_trace)["custom_triton_ops_decomposition_disabled"] = lambda: True


def _register_with_others(common: ModuleType, device: str) -> None:
    """Registers the device when inductor registers its own devices: the code generators can be
    imported only then."""
    base = common.init_backend_registration

    def init_backend_registration() -> None:
        if common.get_scheduling_for_device(device) is None:
            _register(common, device)
        base()

    vars(common)["init_backend_registration"] = init_backend_registration


def _register(common: ModuleType, device: str) -> None:
    from torch._inductor.codegen.cpp import CppScheduling
    from torch._inductor.codegen.wrapper import PythonWrapperCodegen
    from torch._inductor.codegen.wrapper_fxir import WrapperFxCodegen
    from torch._inductor.scheduler import BaseSchedulerNode

    from torchport.virtual import compiled_asserts, compiled_lowerings
    from torchport.virtual.without_data import compiled

    class Refusing:
        supports_caching = True
        create = staticmethod(refusing(*aot_inductor.PACKAGED))

    packaged: Any = Refusing
    if device in aot_inductor.KINDS:
        aot_inductor.compile_for_the_host(device)
        packaged = aot_inductor.code_generator(device)

    compiled_interface.register_calls(device)
    _keep_triton_operators()
    _answer_for(device)

    def is_cpu(self: BaseSchedulerNode) -> bool:
        return getattr(self.get_device(), "type", None) in ("cpu", device)

    BaseSchedulerNode.is_cpu = is_cpu  # type: ignore[method-assign]
    compiled_lowerings.install(device)
    compiled_asserts.install(device)
    if without_data.wanted():
        compiled.install()
    _call_without_stream(PythonWrapperCodegen)
    _partition_as_on_a_gpu(device)
    common.register_backend_for_device(
        device, CppScheduling, PythonWrapperCodegen, packaged, WrapperFxCodegen, _graph_pass(device)
    )


def _answer_for(device: str) -> None:
    """Replaces two functions of inductor: the code generator of a device, and whether the device
    has to be made the current one."""
    from torch._inductor import utils
    from torch._inductor.virtualized import V

    backend_of, needs_guard = utils.get_current_backend, utils.device_need_guard

    def get_current_backend(*device_type: str) -> str:  # torch 2.9 passes none
        given = device_type[0] if device_type else None
        asked = given or V.graph.get_current_device_or_throw().type
        return "cpp" if asked == device else backend_of(*device_type)

    def device_need_guard(asked: str) -> bool:
        return asked == device or needs_guard(asked)

    inductor_names.replace(backend_of, get_current_backend)
    inductor_names.replace(needs_guard, device_need_guard)


def _graph_pass(device: str) -> Any:
    """What is changed in a graph before it is lowered. It is a part of the keys of inductor's caches on
    disk: code for a real device, or from another version of these files, is not used for a virtual
    device."""
    from torch._inductor.custom_graph_pass import CustomGraphModulePass

    from torchport.virtual import compiled_asserts, compiled_lowerings, flex_attention

    modules = (
        aot_inductor, compiled_asserts, compiled_interface, compiled_lowerings, flex_attention
    )  # fmt: skip

    class Pass(CustomGraphModulePass):
        def __call__(self, graph: Any) -> None:
            flex_attention.replace(graph, device)

        def uuid(self) -> str:
            sources = (__file__, *(str(m.__file__) for m in modules))
            code = b"".join(Path(s).read_bytes() for s in sources)
            # Code for a device without data has no vectors.
            return hashlib.sha256(code + bytes([without_data.wanted()])).hexdigest()

    return Pass()


def _partition_as_on_a_gpu(device: str) -> None:
    """CUDA graphs of what is compiled begin and end where the device's own do: what is not computed on
    a GPU is left out of them (torch 2.9 and later)."""
    from torch._inductor import scheduler, utils

    base = getattr(scheduler.Scheduler, "should_partition", None)
    if base is None or device != "cuda":
        return

    def should_partition(self: Any, node: Any, *given: Any, **named: Any) -> Any:
        utils.GPU_TYPES.append(device)
        try:
            return base(self, node, *given, **named)
        finally:
            utils.GPU_TYPES.remove(device)

    scheduler.Scheduler.should_partition = should_partition  # type: ignore[method-assign]


def _is_written(argument_type: str) -> bool:
    """Whether a kernel may write to an argument of this type in C++."""
    return argument_type.endswith("*") and not argument_type.startswith("const ")


def _call_without_stream(wrapper: Any) -> None:
    """Generates calls of the device's kernels without a stream: CPU kernels get only buffers."""
    from torchport.virtual import compiled_asserts

    base = wrapper._generate_kernel_call_helper

    def call(self: Any, name: str, arguments: Any, *, device: Any = None, **rest: Any) -> None:
        from torch._inductor.virtualized import V

        where = device or V.graph.get_current_device_or_throw()
        if where.type != kind():
            base(self, name, arguments, device=device, **rest)
        elif rest.get("triton", True):
            refuse("Triton kernels", "there is no GPU that could run them")
        else:
            self.add_import_once(compiled_asserts.IMPORT)
            types = rest.get("arg_types") or ["?*"] * len(arguments)
            written = tuple(i for i, one in enumerate(types) if _is_written(str(one)))
            given = [name, repr(name), str(where.index), repr(written), *arguments]
            self.writeline(self.wrap_kernel_call("torchport_call", given))

    wrapper._generate_kernel_call_helper = call
