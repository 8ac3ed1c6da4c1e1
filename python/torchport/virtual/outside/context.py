"""What the CUDA context and the kernels that are loaded take of a device, from what was seen on real ones.

Nobody publishes it: it depends on the driver, the device, the release of CUDA and which kernels run.
context.json has each figure with its source. What was seen in another way than it is asked for is made
wider by what the rows themselves say, and the reason tells which row was used.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

MIB = 1 << 20
# How much less or more another release of CUDA may need. An assumption: the rows have one release of each device.
OTHER_CUDA = 0.2


@functools.cache
def _rows() -> list[dict[str, Any]]:
    text = Path(__file__).with_name("context.json").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)["rows"]
    return rows


def _with_kernels(row: dict[str, Any], kernels: tuple[int, int]) -> tuple[int, int]:
    """The ends of a row; an end that was not seen is the context with the kernels of other devices."""
    least, most = row["least"], row["most"]
    if row["context"] is not None:
        least = row["context"] + kernels[0] if least is None else least
        most = row["context"] + kernels[1] if most is None else most
    if least is None:
        least = min(_with_kernels(one, kernels)[0] for one in _rows() if one["context"] is not None)
    return least, most


def interval(capability: tuple[int, int], cuda: tuple[int, int]) -> tuple[int, int, str]:
    """The least and the most bytes, and why."""
    rows = _rows()
    whole = [one for one in rows if None not in (one["context"], one["least"], one["most"])]
    kernels = (
        min(one["least"] - one["context"] for one in whole),
        max(one["most"] - one["context"] for one in whole),
    )
    number = capability[0] * 10 + capability[1]
    found = [one for one in rows if one["capability"] == number]
    if not found:
        ends = [_with_kernels(one, kernels) for one in rows]
        reason = f"nothing was seen on devices of capability {capability[0]}.{capability[1]}, all that others had"
        return min(least for least, _ in ends) * MIB, max(most for _, most in ends) * MIB, reason
    (row,) = found
    least, most = _with_kernels(row, kernels)
    reason = f"seen on {row['cards']}"
    if row["cuda"] is None:
        reason += ", the release not told"
    else:
        reason += f" with CUDA {row['cuda']}"
        if row["cuda"] != "{}.{}".format(*cuda):
            least, most = int(least * (1 - OTHER_CUDA)), int(most * (1 + OTHER_CUDA))
            reason += f", 20 % wider for CUDA {cuda[0]}.{cuda[1]}"
    if row["least"] is None and row["context"] is not None:
        reason += ", kernels as on an H100"
    return least * MIB, most * MIB, reason
