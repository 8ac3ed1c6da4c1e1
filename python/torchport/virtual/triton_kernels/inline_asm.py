"""`tl.inline_asm_elementwise`: its packs of elements as the registers of `ptx`."""

from __future__ import annotations

import re
import time
from typing import Any, NoReturn

import numpy as np

from torchport.virtual.triton_kernels import errors, memory, ptx

Array = Any


class _Memory:
    """What ld.global and st.global use."""

    def __init__(self, interpreter: Any) -> None:
        self._functions = interpreter

    def load(self, addresses: Array, kind: str, active: Array) -> Array:
        stored = np.dtype(kind)
        mask = memory.usable(addresses, active, stored.itemsize, writes=False)
        nothing = np.zeros(addresses.shape, stored)
        return self._functions.load(addresses, mask, nothing, stored)

    def store(self, addresses: Array, values: Array, active: Array) -> None:
        mask = memory.usable(addresses, active, values.dtype.itemsize, writes=True)
        self._functions.store(addresses, values, mask)


def call(
    asm: str,
    constraints: str,
    values: list[Array],
    wanted: list[tuple[Any, Any]],
    pack: int,
    builder: Any,
    interpreter: Any,
) -> list[Array]:
    """The results of inline assembly on arrays of one shape; `wanted` are their types and shapes.

    Raises KernelNotSupported for what is not known.
    """
    letters = [one.strip() for one in constraints.split(",") if one.strip()]
    outputs = [one[1:] for one in letters if one.startswith("=")]
    inputs = [one for one in letters if not one.startswith(("=", "~"))]
    shape = values[0].shape if values else tuple(int(n) for n in wanted[0][1] or (1,))
    total = int(np.prod(shape))
    groups = -(-total // pack)
    try:
        operands = [np.zeros(groups, f"u{ptx.width_of(one) // 8}") for one in outputs]
        for value in values:
            flat = np.zeros(groups * pack, value.dtype)
            flat[:total] = value.ravel()
            operands += _registers(flat.reshape(groups, pack), inputs)
        machine = ptx.Machine(
            operands, _Memory(interpreter), lambda name: _register(name, builder), groups
        )
        machine.run(asm)
        results, at = [], 0
        for kind, _ in wanted:
            stored = np.dtype(kind) if np.dtype(kind) != bool else np.dtype(np.uint8)
            size, parts = stored.itemsize * pack, []
            while size > 0:
                register = machine.result(at)
                parts.append(register.view(np.uint8).reshape(groups, -1))
                size -= register.dtype.itemsize
                at += 1
            octets = np.concatenate(parts, axis=1)[:, : stored.itemsize * pack]
            flat = np.ascontiguousarray(octets).view(stored).ravel()[:total]
            results.append(flat.reshape(shape).astype(kind, copy=False))
    except (ptx.Unknown, IndexError) as error:
        _refuse(asm, error.args[0] if isinstance(error, ptx.Unknown) else "")
    return results


def _registers(values: Array, letters: list[str]) -> list[Array]:
    """The registers of a value's packs; takes their constraints off the list."""
    octets = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
    found = []
    while octets.shape[1] > 0:
        width = ptx.width_of(letters.pop(0)) // 8
        part = np.zeros((len(values), width), np.uint8)
        used = octets[:, :width]
        part[:, : used.shape[1]] = used
        found.append(part.view(f"u{width}")[:, 0].copy())
        octets = octets[:, width:]
    return found


def _register(name: str, builder: Any) -> int | None:
    """A special register, for the whole program."""
    if name in ("%globaltimer", "%clock64", "%clock"):
        return time.perf_counter_ns()
    if name == "%smid":
        import torch

        count = torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count
        x, y, z = builder.grid_idx
        width, height, _ = builder.grid_dim
        return int((x + width * (y + height * z)) % count)
    if found := re.fullmatch(r"%(ctaid|nctaid)\.([xyz])", name):
        values = builder.grid_idx if found[1] == "ctaid" else builder.grid_dim
        return int(values["xyz".index(found[2])])
    return None


def _refuse(asm: str, instruction: str) -> NoReturn:
    text = instruction or " ".join(asm.split())
    short = text if len(text) <= 60 else text[:57] + "..."
    errors.refuse(
        f"inline assembly for the GPU (`{short}`)",
        "it is code for NVIDIA's processors",
        "Give the kernel's callers a branch that uses plain PyTorch, or write it with `tl` functions.",
    )
