"""Runs a part of the collected tests, the same part of a file's tests for the CPU and for CUDA.

TORCHPORT_SAMPLE=K/N chooses the tests whose name gives K when its hash is divided by N.
"""

from __future__ import annotations

import os
import zlib

import pytest
from pytorch_names import neutral


def chosen(test: str, part: int, parts: int) -> bool:
    return zlib.crc32(neutral(test).encode()) % parts == part


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    words = os.environ.get("TORCHPORT_SAMPLE")
    if not words:
        return
    part, parts = map(int, words.split("/"))
    kept = [item for item in items if chosen(item.nodeid, part, parts)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept
