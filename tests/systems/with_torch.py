"""What is run on a system that has torch: each step says what has to be in its output."""

from __future__ import annotations

from roots import System

PROJECT = "project"
STEPS = (
    (["doctor", "--self"], 0, "computes, as NVIDIA"),
    (["run", "--devices", "cuda:2", "--report", "text", "source/train.py"], 0, "cuda:0   NVIDIA"),
    (["verify", "net:make", "--input", "net:inputs", "--device", "cuda", "--eval"], 0, "verified"),
    (["fix", "-q", "--unsafe-fixes", "fixed.py"], 0, ""),
    (["prove", "source/train.py", "fixed.py"], 0, "same program"),
    (
        ["export", "net:make", "--input", "net:inputs", "--to", "torchscript", "-o", "net.pt"],
        0,
        "parity",
    ),
    (["infer", "net.pt", "data.pt", "-o", "out.pt.safetensors"], 0, "rows"),
)
PREPARE = """
import shutil, torch
torch.save(torch.ones(3, 4), "data.pt")
shutil.copy("source/train.py", "fixed.py")
shutil.copy("source/net.py", "net.py")
"""
# The reference: the same program on torch's own CPU, without torchport.
ON_CPU = """
import torch
torch.Tensor.cuda = torch.nn.Module.cuda = lambda self: self
to = torch.Tensor.to
torch.Tensor.to = lambda self, *words: self if words == ("cuda",) else to(self, *words)
exec(compile(open("source/train.py").read(), "train.py", "exec"))
"""


def run_all(there: System, python: str, program: str) -> list[str]:
    """What is wrong on a system whose environment has torch and torchport."""
    there.must([python, "-c", PREPARE], PROJECT)
    wrong = []
    code, expected, errors = there.run([python, "-c", ON_CPU], PROJECT)
    if code != 0 or "loss" not in expected:
        return [f"the program does not run on the CPU: {errors}"]
    found = there.run([program, "run", "-q", "source/train.py"], PROJECT)
    if found[:2] != (0, expected):
        wrong.append(f"run: on the CPU {expected}\n  on virtual devices {found}")
    for words, code, part in STEPS:
        ended, output, errors = there.run([program, *words], PROJECT)
        if ended != code or part not in output + errors or "Traceback" in errors:
            wrong.append(f"{' '.join(words)} ended with {ended}\n{output}{errors}")
    return wrong
