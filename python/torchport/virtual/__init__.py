"""Virtual devices run CUDA programs on a machine without CUDA.

``torchport run`` sets them up for a whole program. A program can also call ``enable()`` before it
imports torch. The pytest plugin (``pytest --torchport-devices cuda:2``) sets them up for tests.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from torchport import _device_kinds
from torchport._startup import VARIABLE

__all__ = ["enable", "enabled", "visible"]


def enable(
    devices: str = "cuda:1",
    *,
    memory: str | int | None = None,
    profile: str | None = None,
    random: str | None = None,
    streams: str | None = None,
    tf32: bool | None = None,
) -> None:
    """Makes the next ``import torch`` use virtual devices, here and in child processes.

    Args:
        devices: A kind and a number, "cuda:4", "npu:2" or "mps" (`torchport run --help` lists the
            kinds), or "none", which hides the real devices of CUDA.
        memory: The size of each device: "8GiB", or a number of bytes. The default is the profile's.
        profile: The real device model that they report, such as "a100-80g".
        random: "device" for the random numbers that a real device of the profile draws, the default
            for "cuda", or "cpu" for those that the CPU draws from the same seed.
        streams: "late" to find work of one stream that does not wait for another one, and to read
            NaN there. The default is "at-once".
        tf32: True if products and convolutions of float32 that the program lets use TF32 lose bits
            as on a GPU of compute capability 8.0 or higher. The default is False.

    Raises:
        RuntimeError: torch is already imported.
        ValueError: The arguments do not describe virtual devices.

    Example:
        >>> torchport.virtual.enable("cuda:2", memory="8GiB")  # doctest: +SKIP
    """
    if "torch" in sys.modules:
        raise RuntimeError(
            "torchport: torch is already imported, and it looks for devices only once. Call "
            "torchport.virtual.enable() before the first `import torch`, or start the program with "
            "`torchport run`."
        )
    if not _device_kinds.names_devices(devices):
        raise ValueError(
            f"torchport: there are no virtual devices {devices!r}; use {_device_kinds.usage()}"
        )
    parts = [devices]
    if memory is not None:
        parts.append(f"memory={memory}")
    if profile is not None:
        parts.append(f"profile={profile}")
    if random is not None:
        if random not in ("device", "cpu"):
            raise ValueError(f"torchport: random={random!r}; use 'device' or 'cpu'")
        parts.append(f"random={random}")
    if streams is not None:
        if streams not in ("at-once", "late"):
            raise ValueError(f"torchport: streams={streams!r}; use 'at-once' or 'late'")
        os.environ["TORCHPORT_STREAMS"] = streams
    if tf32 is not None:
        os.environ["TORCHPORT_TF32"] = "on" if tf32 else "off"
    os.environ[VARIABLE] = ",".join(parts)
    from torchport import _startup

    _startup.install()


def enabled() -> bool:
    """Says whether this process has virtual devices, or will have them once it imports torch.

    Returns:
        True if `enable` was called, or the process was started with virtual devices.

    Example:
        >>> torchport.virtual.enabled()
        False
    """
    return (os.environ.get(VARIABLE) or "none") != "none"


@contextmanager
def visible(count: int) -> Iterator[None]:
    """Shows only the first ``count`` devices to the program and the processes that it starts.

    Within the block, ``torch.cuda.device_count()`` returns ``count``, and no tensor can be made on
    the other devices. This is for tests that run with several numbers of devices. It applies to the
    whole process, not to one thread.

    Args:
        count: The number of visible devices, from 1 to the number that exist.

    Yields:
        None. The other devices are hidden until the end of the block.

    Raises:
        RuntimeError: There are no virtual devices.
        ValueError: ``count`` is below 1 or above the number of devices.

    Example:
        >>> with torchport.virtual.visible(1):  # doctest: +SKIP
        ...     torch.cuda.device_count()
        1
    """
    if not enabled():
        raise RuntimeError(
            "torchport: there are no virtual devices; call torchport.virtual.enable()"
        )
    import torch

    native = torch.ops.torchport
    name = _device_kinds.kind_in(os.environ[VARIABLE])
    module = getattr(torch, name)
    if hasattr(module, "init"):
        module.init()  # after this, the variable applies only to child processes
    before = native.device_count()
    if not 1 <= count <= before:
        raise ValueError(
            f"torchport: visible({count}) is not possible, because the number of devices is {before}"
        )
    kind = _device_kinds.find(name)
    variable = kind.visibility_variable if kind is not None else ""
    mask = os.environ.get(variable) if variable else None
    numbers = mask.split(",") if mask else [str(index) for index in range(before)]
    try:
        native.show_devices(count)
        if variable:
            os.environ[variable] = ",".join(numbers[:count])
        module._cached_device_count = None
        yield
    finally:
        native.show_devices(before)
        module._cached_device_count = None
        if variable and mask is None:
            del os.environ[variable]
        elif variable:
            os.environ[variable] = mask or ""
