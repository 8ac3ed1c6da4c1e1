"""Launches of Triton's kernels: `kernel[grid](...)` runs the programs one after another, on the host."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from torchport.virtual import without_data
from torchport.virtual.kernels import KernelNotSupported
from torchport.virtual.torch_c_shim._native import ops
from torchport.virtual.triton_kernels import checking, errors, memory, programs
from torchport.virtual.triton_kernels.language import Interpreted

_NOTE = (
    "torchport: Triton kernels are interpreted on virtual devices: one program after another, on the CPU. "
    "Their results count, their times do not.\n"
)

WITHOUT_DATA = without_data.wanted()  # asked once, not for each launch
# One launch at a time in a process: the changes to Triton's language are global.
_lock = threading.RLock()
_state: dict[str, Any] = {"language": None, "running": 0}


def _language() -> Interpreted:
    if _state["language"] is None:
        sys.stderr.write(_NOTE)
        _state["language"] = Interpreted()
    return _state["language"]  # type: ignore[no-any-return]


def install() -> None:
    """Changes JITFunction, the class of all kernels, those that were made before included."""
    jit = importlib.import_module("triton.runtime.jit")
    kernel = jit.JITFunction
    compile_only = kernel.run
    outside = kernel.__call__

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        if _is_gluon(self):
            errors.refuse(
                f"the Gluon kernel `{self.__name__}`", "Gluon describes one GPU's hardware"
            )

        def compiled() -> Any:
            with _lock, _Outside():
                return compile_only(self, *args, grid=grid, warmup=True, **kwargs)

        if warmup:
            return compiled()
        failure = None
        try:
            _launch(self, args, grid, kwargs)
        except _Failed as failed:
            failure = failed.args[0]
        if failure is not None:
            _raise(failure, compiled)
        return Launched(compiled)

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _state["running"]:
            return outside(self, *args, **kwargs)
        return _program_of(self)(*args, **kwargs)

    kernel.run, kernel.__call__ = run, call


def _is_gluon(kernel: Any) -> bool:
    ask = getattr(kernel, "is_gluon", None)
    return bool(ask()) if ask is not None else False


class _Failed(Exception):
    """A program of a launch raised the exception in args."""


def _raise(error: Exception, compiled: Callable[[], Any]) -> NoReturn:
    """Raises what Triton's compiler says of the kernel, and if it says nothing, what was raised while the
    kernel ran."""
    wrong = importlib.import_module("triton.compiler.errors").CompilationError
    if not isinstance(error, wrong):
        try:
            compiled()
        except wrong as said:
            raise said from error
        except Exception:  # its compiler failed at something else: no answer
            pass
    raise error


class Launched:
    """What a launch returns: the kernel as Triton compiles it for the profile's GPU, when something of it
    is asked for, such as `.asm["ptx"]`. It cannot be started."""

    def __init__(self, compiled: Callable[[], Any]) -> None:
        self._compiled = compiled
        self._kernel: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._kernel is None:
            self._kernel = self._compiled()
        return getattr(self._kernel, name)


class _Outside:
    """Triton's language as it was, for its compiler, also while a kernel runs."""

    def __enter__(self) -> None:
        if _state["running"]:
            _state["language"].leave()

    def __exit__(self, *_: Any) -> None:
        if _state["running"]:
            _state["language"].enter()


def _program_of(kernel: Any) -> Callable[..., Any]:
    held = kernel.__dict__.get("_torchport_program")
    if held is None or held[0] != kernel.src:
        held = (kernel.src, programs.of(kernel, _state["language"].language))
        kernel.__dict__["_torchport_program"] = held
    return held[1]  # type: ignore[no-any-return]


def check_reachable(tensor: Any, position: int) -> None:
    """Raises what a device raises for a tensor of the host, as the argument with this number."""
    if not tensor.is_cuda and not tensor.is_pinned() and tensor.data_ptr() != 0:
        raise ValueError(
            f"Pointer argument (at {position}) cannot be accessed from Triton (cpu tensor?)"
        )


class _Arguments:
    """The arguments of a launch as the programs get them."""

    def __init__(self, language: Interpreted) -> None:
        self._language = language
        self.tensors: list[Any] = []
        self._addresses: list[Any] = []  # arrays of one address, of each tensor
        self._position = 0

    def of(self, value: Any, spec: Any) -> Any:
        """`spec` is the type that Triton's compiler would specialize for."""
        if isinstance(spec, tuple) and isinstance(value, tuple):
            made = [self.of(one, kind) for one, kind in zip(value, spec, strict=True)]
            return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
        self._position += 1
        tl = self._language.tl
        if spec == "constexpr" or value is None:
            plain = value.value if isinstance(value, tl.constexpr) else value
            return self._language.language.replacements.get(id(plain), plain)
        if spec.startswith("tensordesc"):
            return self._descriptor(value)
        if spec.startswith("*") and hasattr(value, "data_ptr"):
            return self._pointer(value, self._language.type_of_text(spec))
        kind = self._language.type_of_text(spec)
        stored = self._language.interpreter._get_np_dtype(kind)
        if isinstance(value, (int, float)) and stored.kind in "biu":
            number = np.array(
                [int(value) & (2 ** (8 * stored.itemsize) - 1)], f"u{stored.itemsize}"
            )
            data = number.astype(bool) if stored.kind == "b" else number.view(stored)
            return tl.tensor(self._language.interpreter.TensorHandle(data, kind), kind)
        wide = self._language.semantic.to_tensor(float(value))
        return self._language.semantic.cast(wide, kind)

    def _pointer(self, value: Any, kind: Any) -> Any:
        import torch

        tensor = getattr(value, "base", value)
        if isinstance(tensor, torch.Tensor):
            check_reachable(tensor, self._position - 1)
            self.tensors.append(tensor)
        address = np.array([value.data_ptr()], np.uint64)
        if isinstance(tensor, torch.Tensor):
            self._addresses.append(address)
        tl, handle = self._language.tl, self._language.interpreter.TensorHandle
        return tl.tensor(handle(address, kind), kind)

    def now(self, tensors: Any) -> list[tuple[int, int]]:
        """Puts other tensors in the places of those of the launch: a graph that is replayed has some at
        other addresses. Returns the blocks of memory that they lie in."""
        for address, tensor in zip(self._addresses, tensors, strict=True):
            address[0] = tensor.data_ptr()
        return [memory.block_of(one) for one in tensors]

    def _descriptor(self, value: Any) -> Any:
        language = self._language
        kind = language.jit.mangle_type(value.base)
        plain = [int(one) for one in value.strides]
        padding = getattr(value, "padding", "zero")
        make = language.semantic.make_tensor_descriptor
        given = {
            "base": self._pointer(value.base, language.type_of_text(kind)),
            "shape": [language.semantic.to_tensor(int(one)) for one in value.shape],
            "strides": [
                *(language.semantic.to_tensor(one) for one in plain[:-1]), language.tl.constexpr(1)
            ],
            "block_shape": [language.tl.constexpr(one) for one in value.block_shape],
        }  # fmt: skip
        try:
            return make(**given, padding_option=padding)
        except TypeError:  # Triton 3.4 knows no padding
            return make(**given)


def _grid_of(grid: Any, bound: dict[str, Any]) -> tuple[int, int, int]:
    if callable(grid):
        grid = grid(bound)
    if grid is None:
        raise TypeError("torchport: a kernel was launched without a grid")
    sizes = [int(one) for one in ([grid] if isinstance(grid, int) else grid)][:3]
    x, y, z = (*sizes, 1, 1, 1)[:3] if len(sizes) < 3 else sizes
    return x, y, z


# cudaErrorInvalidValue, by which the driver refuses a grid (CUDA C++ Programming Guide, "Technical
# Specifications per Compute Capability").
_LIMITS = (2**31 - 1, 65535, 65535)


def _launch(kernel: Any, args: tuple[Any, ...], grid: Any, kwargs: dict[str, Any]) -> None:
    from torchport.virtual.torch_c_shim import graphs

    knobs = importlib.import_module("triton.knobs")
    kwargs["debug"] = kwargs.get("debug", kernel.debug) or knobs.runtime.debug
    if hasattr(knobs.compilation, "instrumentation_mode"):
        kwargs["instrumentation_mode"] = knobs.compilation.instrumentation_mode
    driver = importlib.import_module("triton.runtime.driver").driver.active
    device = driver.get_current_device()
    ops().start_kernel(-1)  # a lost device says so
    ops().start_work()
    for hook in getattr(kernel, "pre_run_hooks", ()):
        hook(*args, **kwargs)
    *_, backend, binder = kernel.device_caches[device]
    bound, specialization, _ = binder(*args, **kwargs)
    chosen = backend.parse_options(dict(kwargs))
    names = [one.name for one in kernel.params]
    for name in kwargs:
        if name not in chosen.__dict__ and name not in names:
            raise KeyError(f"Keyword argument {name} was specified but unrecognised")
    sizes = _grid_of(grid, bound)
    if any(one > most for one, most in zip(sizes, _LIMITS, strict=True)) or min(sizes) < 0:
        raise RuntimeError("Triton Error [CUDA]: invalid argument")
    if 0 in sizes:
        return
    if WITHOUT_DATA:
        from torchport.virtual.without_data import kernels

        if kernels.leaves_out(kernel, device, bound, specialization):
            return
    with _lock:
        language = _language()
        arguments = _Arguments(language)
        values = {
            name: arguments.of(value, spec[0])
            for (name, value), spec in zip(bound.items(), specialization, strict=False)
        }

        def run(*tensors: Any) -> None:
            _run(language, kernel, values, sizes, chosen, backend, arguments.now(tensors), device)

        run.__name__ = kernel.__name__
        tape = graphs.tape_here()
        if tape is None:
            run(*arguments.tensors)
        else:
            tape.call_kernel(run, arguments.tensors, range(len(arguments.tensors)))


def _run(
    language: Interpreted, kernel: Any, values: dict[str, Any], sizes: tuple[int, int, int],
    options: Any, backend: Any, blocks: Any, device: int,
) -> None:  # fmt: skip
    builder, check = language.builder, None
    before = (builder.grid_idx, builder.grid_dim)
    if _state["running"] == 0:
        language.enter()
    _state["running"] += 1
    try:
        if not options.debug:  # an overflow is only looked for then
            object.__setattr__(options, "sanitize_overflow", False)
        builder.start(options, backend.get_codegen_implementation(options))
        builder.grid_dim = sizes
        memory.start(blocks)
        program = _program_of(kernel)
        x, y, z = sizes
        check = _checked_launch(language, kernel, sizes)
        with np.errstate(all="ignore"):
            for number in range(x * y * z):
                builder.grid_idx = (number % x, number // x % y, number // (x * y))
                if check is not None:
                    check.next_program(number, builder.grid_idx)
                program(**values)
    except KernelNotSupported:
        raise
    except errors.DeviceAssertion as error:
        _fail_on_device(kernel, device, errors.place_of(error.__traceback__), str(error))
    except errors.IllegalAccess as error:
        where = errors.place_of(error.__traceback__)
        _fail_access(kernel, where, str(error), builder.grid_idx)
    except Exception as error:
        where = errors.place_of(error.__traceback__)
        if where and hasattr(error, "add_note"):
            error.add_note(f"torchport: it happened at {where}, in program {builder.grid_idx}")
        raise _Failed(error) from None
    finally:
        if check is not None:
            checking.done()
        _state["running"] -= 1
        builder.grid_idx, builder.grid_dim = before
        if _state["running"] == 0:
            language.leave()


def _checked_launch(
    language: Interpreted, kernel: Any, sizes: tuple[int, int, int]
) -> checking.Launch | None:
    """What `torchport run --check-kernels` notes of a launch."""
    if not checking.CHECKED:
        return None
    load = language.interpreter._interpreter.load

    def values(addresses: Any, kind: Any) -> Any:
        return load(
            addresses, np.ones(addresses.shape, bool), np.zeros(addresses.shape, kind), kind
        )

    launch = checking.Launch(kernel.__name__, values, sizes=sizes)
    checking.begin(launch)
    return launch


def _fail_on_device(kernel: Any, device: int, where: str, message: str) -> None:
    """A device-side assert, at its line of the kernel."""
    if ops().errors_are_late():
        name = f"the Triton kernel {kernel.__name__}"
        ops().failed_assertion(device, name, where or "?", message, message)
        return
    import torch

    raise torch.AcceleratorError(
        f"CUDA error: device-side assert triggered\ntorchport: it happened at {where}, in the Triton "
        f"kernel {kernel.__name__}: {message}"
    )


def _fail_access(kernel: Any, where: str, what: str, program: tuple[int, ...]) -> None:
    import torch

    raise torch.AcceleratorError(
        f"CUDA error: an illegal memory access was encountered\ntorchport: it happened at {where}, in "
        f"program {program} of the Triton kernel {kernel.__name__}: {what}"
    )
