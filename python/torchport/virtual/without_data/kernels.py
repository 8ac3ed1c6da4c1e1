"""Launches of Triton's kernels on devices without data.

A launch that is given a tensor without values is not run: it counts as an operator, with the bytes of its
tensors, and the other tensors that it was given count as without values from then on. The rest of the rule is
in src/runtime/virtual/without_data/launches.h.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from torchport.virtual.torch_c_shim._native import ops


def leaves_out(kernel: str, device: int, bound: dict[str, Any], specialization: Any) -> bool:
    """Whether a launch must not run. `bound` are its arguments by name, `specialization` the types that
    Triton's compiler would take for them."""
    from torchport.virtual.torch_c_shim import graphs
    from torchport.virtual.triton_kernels import launching

    given: list[Any] = []
    pairs = zip(bound.values(), specialization, strict=False)
    for position, value in enumerate(one for pair, spec in pairs for one in _in(pair, spec[0])):
        pointed = getattr(value, "base", value)
        if isinstance(pointed, torch.Tensor):
            launching.check_reachable(pointed, position)
            given.append(pointed)
        elif hasattr(value, "data_ptr"):
            given.append(value)
    if not _leaves_out(kernel, device, given):
        return False
    tape = graphs.tape_here()
    if tape is not None:
        _record(tape, kernel, device, [one for one in given if isinstance(one, torch.Tensor)])
    return True


def _record(tape: Any, kernel: str, device: int, tensors: list[Any]) -> None:
    """Lets a graph that is captured count the launch each time that it is replayed."""
    counted = [True]  # the capture calls it, too

    def run(*now: Any) -> None:
        if not counted:
            _leaves_out(kernel, device, now)
        counted.clear()

    run.__name__ = kernel
    tape.call_kernel(run, tensors, ())


def _in(value: Any, spec: Any) -> Iterator[Any]:
    """The arguments in tuples."""
    if isinstance(spec, tuple) and isinstance(value, tuple):
        for one, kind in zip(value, spec, strict=True):
            yield from _in(one, kind)
    else:
        yield value


def _leaves_out(kernel: str, device: int, given: Any) -> bool:
    # The number of bytes of what is no tensor is not known.
    sizes = [one.nbytes if isinstance(one, torch.Tensor) else 0 for one in given]
    return bool(ops().leaves_out_kernel(kernel, device, [one.data_ptr() for one in given], sizes))
