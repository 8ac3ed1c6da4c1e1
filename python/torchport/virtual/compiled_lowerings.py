"""Lowerings of inductor that ask for the type of a device, and mean one of its two code generators."""

from __future__ import annotations

from typing import Any

import torch

from torchport.virtual import inductor_names


def install(device: str) -> None:
    """Changes inductor's lowerings for this type of device. Call it once."""
    from torch._inductor import ir, jagged_lowerings

    type_of = ir.get_device_type
    # Asked for the code generator: with that of the CPU, argmax counts in the order of a transposed
    # tensor only if it is told to.
    vars(ir)["get_device_type"] = lambda x: "cpu" if type_of(x) == device else type_of(x)
    vars(jagged_lowerings)["get_inverse_offsets"] = _sequence_of_each
    if device == "cuda":
        _tell_of_small_devices(device)


def _sequence_of_each(offsets: Any, jagged_len: Any, realize: bool = True) -> Any:
    """The sequence that each of `jagged_len` rows is in. Triton's code searches the offsets itself; that
    for the CPU cannot."""
    from torch._inductor.lowering import lowerings

    if not hasattr(offsets, "inverse_offsets"):
        rows = lowerings[torch.ops.prims.iota.default](
            jagged_len,
            start=0,
            step=1,
            dtype=offsets.get_dtype(),
            device=offsets.get_device(),
            requires_grad=False,
        )
        after = lowerings[torch.ops.aten.bucketize.Tensor](rows, offsets, right=True)
        offsets.inverse_offsets = lowerings[torch.ops.aten.sub.Tensor](after, 1)
        if realize:
            offsets.inverse_offsets.realize()
    return offsets.inverse_offsets


def _tell_of_small_devices(device: str) -> None:
    """Lets inductor warn, as on a real device, of one with too few multiprocessors for its templates of
    matrix products."""
    from torch._inductor import utils

    chosen = utils.use_triton_template

    def use_triton_template(layout: Any, *given: Any, **named: Any) -> bool:
        types = (torch.float16, torch.bfloat16, torch.float32)
        if layout.device.type == device and layout.dtype in types:
            utils.is_big_gpu(layout.device)  # warns, once for each device
        return bool(chosen(layout, *given, **named))

    inductor_names.replace(chosen, use_triton_template)
