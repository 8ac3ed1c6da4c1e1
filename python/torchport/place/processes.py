"""The processes of a parallel program: how many there are, and how to start them."""

from __future__ import annotations

import os
import shlex
import sys

import torch
import torch.distributed as dist

from torchport._files import short_path


def processes() -> int:
    """The number of processes: of the process group, or those that torchrun started."""
    if dist.is_initialized():
        return dist.get_world_size()
    return int(os.environ.get("WORLD_SIZE") or 1)


def devices_like(device: torch.device) -> int:
    """The number of devices of this kind here; the CPU is one."""
    return 1 if device.type == "cpu" else int(torch.get_device_module(device.type).device_count())


def torchrun(device: torch.device) -> str:
    """The command that starts this program once for each device."""
    count = devices_like(device)
    return f"torchrun --nproc-per-node {count if count > 1 else 'N'} {_program()}"


def _program() -> str:
    """This program as torchrun takes it: a file, or a module."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name not in ("__main__", ""):  # python -m package.module
        return f"-m {spec.name.removesuffix('.__main__')}"
    file = getattr(main, "__file__", None)
    return shlex.quote(short_path(file)) if file else "PROGRAM.py"


def idle_devices(device: torch.device) -> str:
    """What to do with the other devices, in one process; empty if there are none."""
    count = devices_like(device)
    if count < 2:
        return ""
    return (
        f", and it uses 1 of {count} {device.type} devices. To use all, start a process for each: "
        f"{torchrun(device)}"
    )


def start(device: torch.device) -> None:
    """Makes the process group for torchrun, unless the program has made one."""
    if dist.is_initialized() or processes() == 1:
        return
    if "RANK" not in os.environ or "MASTER_ADDR" not in os.environ:
        raise RuntimeError(
            f"torchport: WORLD_SIZE is {processes()}, but RANK or MASTER_ADDR is missing; start the "
            "program with torchrun, or call torch.distributed.init_process_group() first"
        )
    backend = dist.get_default_backend_for_device(device)
    if device.type == "cpu":
        dist.init_process_group(backend)
        return
    device = torch.device(device.type, device.index or 0)
    torch.accelerator.set_device_index(device.index)
    # Without the device, barriers guess it from the current one, and torch warns.
    dist.init_process_group(backend, device_id=device)
