"""Calls every operator on the CPU, and on the device that there is; prints what came of it."""

# ruff: noqa: I001 - the extension takes the libraries of a torch that is imported already

import json

import torch

import gate_demo._C

ops = torch.ops.gate_demo
arguments = {"scale": (2.0,), "triple": (), "shift": (1.0,), "negate": ()}


def call(name: str, x: torch.Tensor) -> object:
    try:
        return getattr(ops, name)(x, *arguments[name]).tolist()
    except (NotImplementedError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"


x = torch.tensor([1.0, 2.0])
answers = {"file": gate_demo._C.__file__, "with_cuda": ops.with_cuda()}
answers["cpu"] = {name: call(name, x) for name in arguments}
answers["available"] = torch.cuda.is_available()
if answers["available"]:
    answers["cuda"] = {name: call(name, x.cuda()) for name in arguments}
print(json.dumps(answers))
