"""Launches of Triton's kernels on devices without data.

A launch that is given a tensor without values is not run: it counts as an operator, with the bytes of its
tensors, and the other tensors that it may have stored to count as without values from then on. The rest of the rule is
in src/runtime/virtual/without_data/launches.h.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from torchport.virtual.torch_c_shim._native import ops
from torchport.virtual.triton_kernels import stores


class _Given(NamedTuple):
    """A pointer of a launch."""

    pointed: Any  # a tensor, or another thing with an address
    may_be_stored: bool


def leaves_out(kernel: Any, device: int, bound: dict[str, Any], specialization: Any) -> bool:
    """Whether a launch of a JITFunction must not run. `bound` are its arguments by name, `specialization`
    the types that Triton's compiler would take for them."""
    from torchport.virtual.torch_c_shim import graphs
    from torchport.virtual.triton_kernels import launching

    stored = stores.stored(kernel)
    given: list[_Given] = []
    position = 0
    for (name, value), spec in zip(bound.items(), specialization, strict=False):
        for one in _in(value, spec[0]):
            pointed = getattr(one, "base", one)
            if isinstance(pointed, torch.Tensor):
                launching.check_reachable(pointed, position)
            if hasattr(pointed, "data_ptr"):
                given.append(_Given(pointed, stored is None or name in stored))
            position += 1
    if not _leaves_out(kernel.__name__, device, given):
        return False
    tape = graphs.tape_here()
    if tape is not None:
        _record(tape, kernel.__name__, device, given)
    return True


def _record(tape: Any, kernel: str, device: int, given: list[_Given]) -> None:
    """Lets a graph that is captured count the launch each time that it is replayed."""
    given = [one for one in given if isinstance(one.pointed, torch.Tensor)]
    counted = [True]  # the capture calls it, too

    def run(*tensors: Any) -> None:
        if not counted:
            now = [one._replace(pointed=t) for one, t in zip(given, tensors, strict=True)]
            _leaves_out(kernel, device, now)
        counted.clear()

    run.__name__ = kernel
    tape.call_kernel(run, [one.pointed for one in given], ())


def _in(value: Any, spec: Any) -> Iterator[Any]:
    """The arguments in tuples."""
    if isinstance(spec, tuple) and isinstance(value, tuple):
        for one, kind in zip(value, spec, strict=True):
            yield from _in(one, kind)
    else:
        yield value


def _leaves_out(kernel: str, device: int, given: list[_Given]) -> bool:
    addresses = [one.pointed.data_ptr() for one in given]
    # The number of bytes of what is no tensor is not known.
    sizes = [one.pointed.nbytes if isinstance(one.pointed, torch.Tensor) else 0 for one in given]
    stored = [int(one.may_be_stored) for one in given]
    return bool(ops().leaves_out_kernel(kernel, device, addresses, sizes, stored))
