"""Virtual devices: CUDA programs on a machine without CUDA.

``torchport run`` sets them up for a whole program. ``enable()`` does so from within one, before torch
is imported; the pytest plugin (``pytest --torchport-devices cuda:2``) does so for tests.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLE = "TORCHPORT_VIRTUAL"
_DEVICES = re.compile(r"(cuda|xpu)(:\d+)?|mps(:1)?|none")


def enable(
    devices: str = "cuda:1", *, memory: str | int | None = None, profile: str | None = None
) -> None:
    """Makes the coming ``import torch`` one with virtual devices, here and in child processes.

    ``devices`` is "cuda:4", "xpu:2", "mps" or "none" (no accelerator at all); ``memory`` the size of
    each device ("8GiB", or bytes); ``profile`` what they say they are ("a100-80g").

    Raises RuntimeError once torch is imported, and ValueError for devices that there cannot be.
    """
    if "torch" in sys.modules:
        raise RuntimeError(
            "torchport: torch is imported already, and looks for its devices only once. Call "
            "torchport.virtual.enable() before the first `import torch`, or start the program with "
            "`torchport run`."
        )
    if not _DEVICES.fullmatch(devices):
        raise ValueError(f"torchport: {devices!r} is none of cuda:N, xpu:N, mps and none")
    parts = [devices]
    if memory is not None:
        parts.append(f"memory={memory}")
    if profile is not None:
        parts.append(f"profile={profile}")
    os.environ[_VARIABLE] = ",".join(parts)
    from torchport import _startup

    _startup.install()


def enabled() -> bool:
    """Whether this process has, or will have, virtual devices."""
    return os.environ.get(_VARIABLE, "none") != "none"


@contextmanager
def visible(count: int) -> Iterator[None]:
    """Within it the program, and the processes that it starts, see the first ``count`` devices only.

    ``torch.cuda.device_count()`` says so, and nothing new can be made on the others. For tests that
    are to run on several numbers of devices. Of the whole process, not of one thread.
    """
    if not enabled():
        raise RuntimeError(
            "torchport: there are no virtual devices; call torchport.virtual.enable()"
        )
    import torch

    native = torch.ops.torchport
    module = getattr(torch, os.environ[_VARIABLE].partition(",")[0].partition(":")[0])
    if hasattr(module, "init"):
        module.init()  # from here on it heeds CUDA_VISIBLE_DEVICES no more, but children do
    before = native.device_count()
    if not 1 <= count <= before:
        raise ValueError(f"torchport: {count} devices cannot be shown, there are {before}")
    mask = os.environ.get("CUDA_VISIBLE_DEVICES")
    numbers = mask.split(",") if mask else [str(index) for index in range(before)]
    try:
        native.show_devices(count)
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(numbers[:count])
        module._cached_device_count = None
        yield
    finally:
        native.show_devices(before)
        module._cached_device_count = None
        if mask is None:
            del os.environ["CUDA_VISIBLE_DEVICES"]
        else:
            os.environ["CUDA_VISIBLE_DEVICES"] = mask
