"""What the distributed programs share: processes that meet over a file, each on its own device."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def _enter(
    rank: int,
    body: Callable[[int], None],
    size: int,
    meeting: str,
    backend: str | None,
    bound: bool,
) -> None:
    torch.cuda.set_device(rank)
    torch.manual_seed(0)
    dist.init_process_group(
        backend,
        init_method=f"file://{meeting}",
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=60),
        device_id=torch.device("cuda", rank) if bound else None,
    )
    body(rank)
    dist.barrier()
    dist.destroy_process_group()


def spawn(
    body: Callable[[int], None], size: int = 2, backend: str | None = "nccl", bound: bool = False
) -> None:
    """Runs body(rank) in `size` processes of one group, `bound` to their devices from the start;
    raises what one of them raises."""
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(_enter, (body, size, str(Path(folder, "meeting")), backend, bound), nprocs=size)


def raises(kind: type[Exception], text: str, call: Callable[[], object]) -> None:
    try:
        call()
    except kind as error:
        assert text in str(error), f"{text!r} is not in {error}"
    else:
        raise AssertionError(f"no {kind.__name__}: {text}")
