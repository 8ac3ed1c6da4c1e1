"""What the CUDA context and the kernels that are loaded take of a device, from what was seen on real ones.

Nobody publishes it: it depends on the driver, the device, the release of CUDA and which kernels run.
context.json has each figure with its source. What is asked for and was not seen is answered by all that was,
made wider; the reason says so.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

MIB = 1 << 20
# How much less or more another release of CUDA or another device may need. An assumption.
WIDER = 0.2


@functools.cache
def _rows() -> list[dict[str, Any]]:
    text = Path(__file__).with_name("context.json").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)["rows"]
    return rows


@functools.cache
def _kernels() -> tuple[int, int]:
    """The least and the most that kernels take, of the rows that tell both."""
    whole = [one for one in _rows() if None not in (one["context"], one["least"], one["most"])]
    return (
        min(one["least"] - one["context"] for one in whole),
        max(one["most"] - one["context"] for one in whole),
    )


def _ends(row: dict[str, Any]) -> tuple[int, int]:
    """Of a row with a context: an end that was not seen is the context with the kernels of others."""
    least, most = _kernels()
    return (
        row["context"] + least if row["least"] is None else row["least"],
        row["context"] + most if row["most"] is None else row["most"],
    )


def interval(
    capability: tuple[int, int], cuda: tuple[int, int], loads_all: bool = False
) -> tuple[int, int, str]:
    """The least and the most bytes, and why. ``loads_all``: kernels are loaded before they are called."""
    lazy = [one for one in _rows() if one["loading"] == "lazy"]
    least, most = min(_ends(one)[0] for one in lazy), max(_ends(one)[1] for one in lazy)
    number = capability[0] * 10 + capability[1]
    found = [one for one in lazy if one["capability"] == number]
    if loads_all:
        most = max(one["most"] for one in _rows() if one["loading"] != "lazy")
        reason = "CUDA_MODULE_LOADING loads all kernels: up to the most that was seen"
        return least * MIB, int(most * (1 + WIDER)) * MIB, reason
    if not found:
        least, most = int(least * (1 - WIDER)), int(most * (1 + WIDER))
        name = "{}.{}".format(*capability)
        reason = f"nothing was seen on capability {name}: what others had, 20 % wider"
        return least * MIB, most * MIB, reason
    (row,) = found
    least, most = _ends(row)
    reason = f"seen on {row['cards']} with CUDA {row['cuda']}"
    if row["least"] is None:
        reason += ", the kernels on an H100"
    if row["cuda"] != "{}.{}".format(*cuda):
        least, most = int(least * (1 - WIDER)), int(most * (1 + WIDER))
        reason += ", 20 % wider for CUDA {}.{}".format(*cuda)
    return least * MIB, most * MIB, reason
