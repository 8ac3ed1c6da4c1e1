"""Collectives of one process, and a fork after the device is used."""

import os

import torch
from recorder.registry import question


@question("nccl alone", alone=True, seconds=120)
def nccl_alone():
    torch.distributed.init_process_group(
        "nccl", store=torch.distributed.HashStore(), rank=0, world_size=1
    )
    device = torch.ones(3, device="cuda")
    calls = {
        "host tensor": lambda: torch.distributed.all_reduce(torch.ones(3)),
        "sparse": lambda: torch.distributed.all_reduce(torch.eye(3, device="cuda").to_sparse()),
        "band": lambda: torch.distributed.all_reduce(device, torch.distributed.ReduceOp.BAND),
        "not contiguous": lambda: torch.distributed.broadcast(
            torch.ones(4, 4, device="cuda").t(), 0
        ),
        "no such rank": lambda: torch.distributed.broadcast(device, 5),
        "to itself": lambda: torch.distributed.send(device, 0),
        "sizes": lambda: torch.distributed.all_gather([device[:1]], device),
        "types": lambda: torch.distributed.all_gather([device.double()], device),
        "into": lambda: torch.distributed.all_gather_into_tensor(device[:2], device),
        "complex": lambda: torch.distributed.all_reduce(device.cfloat()),
        "int16": lambda: torch.distributed.all_reduce(device.short()),
        "bool": lambda: torch.distributed.all_reduce(device.bool()),
        "average of ints": lambda: torch.distributed.all_reduce(
            device.long(), torch.distributed.ReduceOp.AVG
        ),
    }
    told = {}
    for name, call in calls.items():
        try:
            call()
            told[name] = "went on"
        except Exception as error:
            told[name] = [type(error).__name__, str(error)]
    return told


@question(alone=True)
def forked_after_use():
    torch.ones(1, device="cuda")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            torch.ones(1, device="cuda")
            text = "went on"
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writing, text.encode())
        os._exit(0)
    os.waitpid(child, 0)
    return os.read(reading, 1 << 16).decode()
