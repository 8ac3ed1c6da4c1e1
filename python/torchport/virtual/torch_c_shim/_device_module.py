"""Makes the module `torch.KIND` for a device kind that is a renamed PrivateUse1.

torch has no module for such a kind; the package of its backend brings one with the names of
torch.cuda. Here the module is made from the answers of the runtime, so that a kind only has to add
its name and its own functions.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

from torchport.virtual.torch_c_shim._native import ops

_MIB = 2**20
_STATISTICS = (
    "allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes",
    "active_bytes", "inactive_split_bytes", "requested_bytes",
)  # fmt: skip


def install(
    torch: ModuleType, name: str, *, package: str, properties: Callable[[dict[str, Any]], Any]
) -> ModuleType:
    """Makes torch.NAME, Tensor.NAME() and the like, and the module of the backend's package.

    Args:
        torch: torch, imported.
        name: The name of the kind; the runtime has renamed PrivateUse1 to it.
        package: The package that programs import to get the backend ("torch_npu"). A module of this
            name, with the attribute `NAME`, takes its place.
        properties: Makes the result of get_device_properties() from the runtime's description.
    """
    module = ModuleType(f"torch.{name}")
    vars(module).update(_devices(torch, name, properties))
    vars(module).update(_streams(torch, name))
    vars(module).update(_memory(torch, name))
    vars(module).update(_random(torch, name))
    module.get_amp_supported_dtype = lambda: [torch.float16, torch.bfloat16]  # type: ignore[attr-defined]
    module.is_bf16_supported = lambda: True  # type: ignore[attr-defined]
    torch.utils.rename_privateuse1_backend(name)
    torch._register_device_module(name, module)
    torch.utils.generate_methods_for_privateuse1_backend()
    stand_in = ModuleType(package)
    stand_in.__spec__ = ModuleSpec(package, None)  # importlib.util.find_spec asks for it
    stand_in.__doc__ = f"The virtual {name} devices of torchport, in place of {package}."
    setattr(stand_in, name, module)
    # torch calls _autoload of backend packages. This backend is already loaded.
    stand_in._autoload = lambda: None  # type: ignore[attr-defined]
    sys.modules.setdefault(package, stand_in)
    sys.modules.setdefault(f"{package}.{name}", module)
    return module


def _index_of(torch: ModuleType, name: str, device: Any) -> int:
    """The index of a device, which is given as a device, an int, a string, or None for the current
    one."""
    if device is None:
        return int(ops().get_device())
    if isinstance(device, int):
        return device
    device = torch.device(device)
    if device.type != name:
        raise ValueError(f"Expected a {name} device, but got: {device}")
    return int(ops().get_device()) if device.index is None else device.index


def _devices(
    torch: ModuleType, name: str, properties: Callable[[dict[str, Any]], Any]
) -> dict[str, Any]:
    def index_of(device: Any) -> int:
        return _index_of(torch, name, device)

    def describe(device: Any = None) -> Any:
        index = index_of(device)
        ops().memory_info(index)  # raises an error if the device does not exist
        return properties({**json.loads(ops().describe()), "index": index})

    class device:
        """Makes the device the current one within the block."""

        def __init__(self, device: Any) -> None:
            self.idx = index_of(device)
            self.prev_idx = -1

        def __enter__(self) -> None:
            self.prev_idx = ops().get_device()
            if self.idx >= 0:
                ops().set_device(self.idx)

        def __exit__(self, *_: Any) -> None:
            ops().set_device(self.prev_idx)

    class device_of(device):
        def __init__(self, tensor: Any) -> None:
            super().__init__(tensor.device if tensor.device.type == name else -1)

    return {
        "device": device,
        "device_of": device_of,
        "device_count": lambda: ops().device_count(),
        "is_available": lambda: ops().device_count() > 0,
        "is_initialized": lambda: True,
        "init": lambda: None,
        "_lazy_init": lambda: None,
        "_is_in_bad_fork": lambda: False,
        "current_device": lambda: ops().get_device(),
        "set_device": lambda device: ops().set_device(index_of(device)),
        "synchronize": lambda device=None: None,
        "can_device_access_peer": lambda a, b: index_of(a) != index_of(b),
        "get_device_properties": describe,
        "get_device_name": lambda device=None: describe(device).name,
        "get_device_capability": lambda device=None: None,
        "_get_device_index": lambda device, optional=False: index_of(device),
    }


def _streams(torch: ModuleType, name: str) -> dict[str, Any]:
    class Stream(torch.Stream):  # type: ignore[name-defined, misc]
        def __new__(cls, device: Any = None, priority: int = 0, **kwargs: Any) -> Any:
            if kwargs:
                return super().__new__(cls, **kwargs)
            index = _index_of(torch, name, device)
            return super().__new__(cls, device=f"{name}:{index}", priority=priority)

    class Event(torch.Event):  # type: ignore[name-defined, misc]
        def __new__(cls, enable_timing: bool = False, **kwargs: Any) -> Any:
            event = super().__new__(cls, device=name, enable_timing=enable_timing)
            # torch.Event.elapsed_time() accepts no subclass, so a plain event keeps the times.
            event._timer = torch.Event(device=name, enable_timing=enable_timing)
            return event

        def record(self, stream: Any = None) -> None:
            stream = current_stream() if stream is None else stream
            super().record(stream)
            self._timer.record(stream)

        def elapsed_time(self, other: Any) -> float:
            return float(self._timer.elapsed_time(getattr(other, "_timer", other)))

    def wrapped(stream: Any) -> Any:
        return Stream(
            stream_id=stream.stream_id,
            device_index=stream.device_index,
            device_type=stream.device_type,
        )

    def current_stream(device: Any = None) -> Any:
        return wrapped(torch.accelerator.current_stream(_index_of(torch, name, device)))

    def default_stream(device: Any = None) -> Any:
        stream = torch.accelerator.current_stream(_index_of(torch, name, device))
        return Stream(stream_id=0, device_index=stream.device_index, device_type=stream.device_type)

    @contextmanager
    def stream(wanted: Any) -> Iterator[None]:
        if wanted is None:
            yield
            return
        before = torch.accelerator.current_stream()
        torch.accelerator.set_stream(wanted)
        try:
            yield
        finally:
            torch.accelerator.set_stream(before)

    return {
        "Stream": Stream,
        "Event": Event,
        "current_stream": current_stream,
        "default_stream": default_stream,
        "set_stream": lambda wanted: torch.accelerator.set_stream(wanted),
        "stream": stream,
    }


def _memory(torch: ModuleType, name: str) -> dict[str, Any]:
    def index_of(device: Any) -> int:
        return _index_of(torch, name, device)

    def stats(device: Any = None) -> dict[str, int]:
        nested = json.loads(ops().memory_stats(index_of(device)))
        flat = {key: value for key, value in nested.items() if not isinstance(value, dict)}
        for statistic in _STATISTICS:
            for pool, figures in nested[statistic].items():
                flat.update({f"{statistic}.{pool}.{key}": n for key, n in figures.items()})
        return dict(sorted(flat.items()))

    def figure(key: str) -> Callable[..., int]:
        return lambda device=None: stats(device)[key]

    def summary(device: Any = None, abbreviated: bool = False) -> str:
        now = stats(device)
        lines = [f"torch.{name} memory of device {index_of(device)}"]
        for key in ("allocated_bytes.all", "reserved_bytes.all"):
            current, peak = now[f"{key}.current"], now[f"{key}.peak"]
            lines.append(f"  {key:<20} {current / _MIB:10.1f} MiB, peak {peak / _MIB:10.1f} MiB")
        return "\n".join(lines)

    return {
        "memory_stats": stats,
        "memory_allocated": figure("allocated_bytes.all.current"),
        "max_memory_allocated": figure("allocated_bytes.all.peak"),
        "memory_reserved": figure("reserved_bytes.all.current"),
        "max_memory_reserved": figure("reserved_bytes.all.peak"),
        "memory_summary": summary,
        "mem_get_info": lambda device=None: tuple(ops().memory_info(index_of(device))),
        "empty_cache": lambda: ops().empty_cache(),
        "reset_peak_memory_stats": lambda device=None: ops().reset_peak(index_of(device)),
        "reset_max_memory_allocated": lambda device=None: ops().reset_peak(index_of(device)),
        "reset_accumulated_memory_stats": lambda device=None: ops().reset_accumulated(
            index_of(device)
        ),
        "set_per_process_memory_fraction": lambda part, device=None: ops().set_memory_fraction(
            index_of(device), part
        ),
    }


def _random(torch: ModuleType, name: str) -> dict[str, Any]:
    def generator(device: Any = None) -> Any:
        return ops().default_generator(_index_of(torch, name, device))

    def all_generators() -> list[Any]:
        return [ops().default_generator(i) for i in range(ops().device_count())]

    def manual_seed_all(seed: int) -> None:
        for one in all_generators():
            one.manual_seed(int(seed))

    def seed_all() -> None:
        first = all_generators()[0].seed()
        manual_seed_all(first)

    def set_rng_state_all(states: Any) -> None:
        for one, state in zip(all_generators(), states, strict=True):
            one.set_state(state)

    return {
        "default_generators": tuple(all_generators()),
        "manual_seed": lambda seed: generator().manual_seed(int(seed)) and None,
        "manual_seed_all": manual_seed_all,
        "seed": lambda: generator().seed() and None,
        "seed_all": seed_all,
        "initial_seed": lambda: generator().initial_seed(),
        "get_rng_state": lambda device=None: generator(device).get_state(),
        "set_rng_state": lambda state, device=None: generator(device).set_state(state) and None,
        "get_rng_state_all": lambda: [one.get_state() for one in all_generators()],
        "set_rng_state_all": set_rng_state_all,
    }


def properties_repr(class_name: str, members: dict[str, Any]) -> SimpleNamespace:
    """An object with these members and the repr `class_name(key=value, ...)`."""

    class Properties(SimpleNamespace):
        def __repr__(self) -> str:
            shown = ", ".join(f"{k}={v!r}" for k, v in vars(self).items())
            return f"{class_name}({shown})"

    return Properties(**members)
