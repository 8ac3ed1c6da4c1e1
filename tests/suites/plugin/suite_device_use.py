"""Tells of each test, as a property in the JUnit file, whether it took memory of a CUDA device.

Many tests ask in their body whether CUDA is there and else do nothing, so that they pass either way. Only
this shows that they did more.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

BEFORE = pytest.StashKey[int]()


def blocks() -> int:
    """The blocks that this process has taken of its CUDA devices so far."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return 0
    try:
        devices = range(torch.cuda.device_count())
        stats = [torch.cuda.memory_stats(device) for device in devices]
    except RuntimeError:  # a device that is lost to this process
        return 0
    return sum(stat.get("allocation.all.allocated", 0) for stat in stats)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[BEFORE] = blocks()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    finally:
        if blocks() > item.stash[BEFORE]:
            item.user_properties.append(("device", "cuda"))
