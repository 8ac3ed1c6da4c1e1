"""Modules and optimizers of the database, on the CPU and on cuda:0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from compare import attempt, outcomes, results
from database import modules, optimizers
from devices import Mover, tensors_of
from gradients import gradients

SEED = 20


def _run_module(info: Any, entry: Any, device: str, dtype: torch.dtype, training: bool) -> Any:
    torch.manual_seed(SEED)
    make, forward = entry.constructor_input, entry.forward_input
    module = info.module_cls(*make.args, **make.kwargs).to(dtype).train(training).to(device)
    mover = Mover(device)
    args, kwargs = mover((list(forward.args), dict(forward.kwargs)))
    torch.manual_seed(SEED)
    value = module(*args, **kwargs)
    outputs = [t for t in tensors_of(value) if t.requires_grad]
    leaves = [t for t in (*mover.leaves, *module.parameters()) if t.requires_grad]
    grads: Any = []
    if outputs and leaves:
        weights = [torch.ones_like(t) for t in outputs]
        grads = gradients(outputs, leaves, weights)
    return value, grads, list(module.buffers())


def _of_module(info: Any, dtype: torch.dtype) -> Iterator[str]:
    for training in (True, False):
        torch.manual_seed(SEED)
        entries = info.module_inputs_func(
            info, device="cpu", dtype=dtype, requires_grad=True, training=training
        )
        for entry in entries:
            if entry.forward_input is None:
                continue
            a, b = (
                attempt(lambda d=d, e=entry, t=training: _run_module(info, e, d, dtype, t))
                for d in ("cpu", "cuda:0")
            )
            found = outcomes(a, b)
            if found is None:
                found = results(a.value, b.value, [], [], aliases=False)
            yield from (f"module.{text}" for text in found)


def _run_optimizer(info: Any, kwargs: dict[str, Any], device: str, dtype: torch.dtype) -> Any:
    torch.manual_seed(SEED)
    shapes = ((4, 3), (3,), (5, 2))
    initial = [torch.randn(shape, dtype=dtype) for shape in shapes]
    gradients = [[torch.randn(shape, dtype=dtype) for shape in shapes] for _ in range(3)]
    params = [torch.nn.Parameter(t.clone().to(device)) for t in initial]
    if info.optim_cls.__name__ == "Muon":
        params = [p for p in params if p.dim() == 2]
    optimizer = info.optim_cls(params, **kwargs)
    for grads in gradients:

        def closure(grads=grads):
            for param, grad in zip(params, grads, strict=False):
                param.grad = grad.reshape(-1)[: param.numel()].reshape(param.shape).to(device)
            return sum((p.detach() ** 2).sum() for p in params)

        if info.step_requires_closure:
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
    # Step counters stand where the optimizer puts them, which is not the same for all devices.
    return [p.detach() for p in params]


def _of_optimizer(info: Any, dtype: torch.dtype) -> Iterator[str]:
    if info.only_supports_sparse_grads:
        return
    for variant in ("for loop", "foreach", "fused"):
        if variant != "for loop" and variant not in info.supported_impls:
            continue
        for entry in info.optim_inputs_func(device="cpu"):
            kwargs = dict(entry.kwargs)
            if variant != "for loop":
                kwargs[variant] = True
            if variant == "for loop" and "foreach" in info.supported_impls:
                kwargs.setdefault("foreach", False)
            a, b = (
                attempt(lambda d=d, k=kwargs: _run_optimizer(info, Mover(d)(k), d, dtype))
                for d in ("cpu", "cuda:0")
            )
            found = outcomes(a, b)
            if found is None:
                found = results(a.value, b.value, [], [])
            yield from (f"{variant} {entry.desc}.{text}" for text in found)


def differences(name: str, dtype: str) -> Iterator[str]:
    kind = getattr(torch, dtype)
    if name.startswith("module:"):
        return _of_module(modules()[name], kind)
    return _of_optimizer(optimizers()[name], kind)
