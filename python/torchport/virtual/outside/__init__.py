"""Memory of a device that ``torchport plan`` cannot compute exactly, as intervals with their reasons.

A part is what torch.cuda does not count (the CUDA context with the kernels, NCCL's buffers), or what it
counts and nobody publishes (cuDNN's workspaces). Each kind is a module of this package.
"""

from __future__ import annotations

import json
import os
from types import ModuleType
from typing import Any

from torchport._releases import CUDABuild
from torchport.virtual import alike_ranks
from torchport.virtual.outside import context, cudnn, nccl

# Where the table of releases has no version of NCCL.
NEWEST_NCCL = (2, 30, 7)
MOST_DEVICES = 8  # of a machine, unless it is told to have more


def _part(
    name: str, least: int, most: int, why: str, is_dispensable: bool = False
) -> dict[str, Any]:
    """``is_dispensable``: it is taken only where there is room, and the program runs without it."""
    return {
        "name": name,
        "least": least,
        "most": most,
        "why": why,
        "is_dispensable": is_dispensable,
    }


def _world(communicators: list[dict[str, Any]]) -> int:
    """How many ranks there are; a program may have left its group before it ended."""
    seen = [int(one["ranks"]) for one in communicators]
    told = os.environ.get("WORLD_SIZE", "")
    return max([1, *seen, int(told) if told.isdecimal() else 1])


def _devices_of_machine(about: dict[str, Any]) -> int:
    told = os.environ.get("LOCAL_WORLD_SIZE", "")
    if told.isdecimal():
        return int(told)
    # A program that is sharded for a trial has one device, and stands for ranks on one machine.
    ranks = int(os.environ.get(alike_ranks.VARIABLE, "1"))
    return max(int(about["count"]), min(ranks, MOST_DEVICES))


def _machine(about: dict[str, Any]) -> nccl.Machine:
    profile = about["profile"]
    return nccl.Machine(
        (profile["major"], profile["minor"]),
        about["nvlink"],
        about["nvlink"] >= 900 or "SXM" in profile["name"],
        _devices_of_machine(about),
    )


def _nccl(
    torch: ModuleType, about: dict[str, Any], build: CUDABuild, device: int
) -> list[dict[str, Any]]:
    recorded = json.loads(torch._ops.ops.torchport.recorded_communicators())
    all_of_nccl = [one for one in recorded if one["library"] == "nccl"]
    own = [one for one in all_of_nccl if one["device"] == device]
    if not own:
        return []
    version = build.nccl or NEWEST_NCCL
    communicators = [
        nccl.Communicator(one["ranks"], one["direct"], one["collective"]) for one in own
    ]
    least, most = nccl.total(
        communicators,
        _machine(about),
        _world(all_of_nccl),
        nccl.Settings(os.environ, version),
    )
    count = len(own)
    text = "a communicator" if count == 1 else f"{count} communicators"
    ranks = sorted({one["ranks"] for one in own})
    sizes = " and ".join(map(str, ranks))
    name = f"NCCL's buffers and kernels for {text} of {sizes} rank{'' if ranks == [1] else 's'}"
    return [
        _part(name, least, most, "from the source of NCCL {}.{}.{}, not measured".format(*version))
    ]


def _cudnn(torch: ModuleType, device: int) -> list[dict[str, Any]]:
    recorded = json.loads(torch._ops.ops.torchport.recorded_convolutions())
    own = [one for one in recorded if one["device"] == device]
    most = cudnn.most(own, os.environ)
    if most == 0:
        return []
    tries = any(one["tried"] for one in own)
    why = "as much as the largest convolution in each pass" + (
        " by any algorithm that benchmark may try" if tries else ""
    )
    return [_part("more for cuDNN's workspaces", 0, most, why, is_dispensable=True)]


def parts(torch: ModuleType, about: dict[str, Any], device: int) -> list[dict[str, Any]]:
    """The parts of a device beside what PyTorch reserves. ``about`` is what ``describe()`` says."""
    if about["kind"] != "cuda":
        why = f"nothing was seen on {about['kind']}; none, up to the most that CUDA had"
        most = context.interval((0, 0), (0, 0))[1]
        return [_part("the driver and its kernels", 0, most, why)]
    from torchport.virtual.torch_c_shim.build import build

    chosen = build(torch)
    profile = about["profile"]
    loads_all = os.environ.get("CUDA_MODULE_LOADING", "LAZY").upper() == "EAGER"
    capability = (profile["major"], profile["minor"])
    least, most, why = context.interval(capability, chosen.version, loads_all)
    return [
        _part("the CUDA context and its kernels", least, most, why),
        *_nccl(torch, about, chosen, device),
        *_cudnn(torch, device),
    ]
