"""Gradients whose bits do not depend on the order in which threads run."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def gradients(
    outputs: Sequence[torch.Tensor],
    inputs: Sequence[torch.Tensor],
    weights: Sequence[torch.Tensor],
    *,
    create_graph: bool = False,
) -> tuple[torch.Tensor | None, ...]:
    """As torch.autograd.grad, in the calling thread.

    The engine has a thread for each device but the CPU. It starts on what it is handed while the
    calling thread hands it more, and so the order in which gradients are summed, and with it their
    last bits, are a matter of chance: on a real GPU too.
    """
    with torch.autograd.set_multithreading_enabled(False):
        return torch.autograd.grad(
            outputs, inputs, weights, allow_unused=True, create_graph=create_graph
        )
