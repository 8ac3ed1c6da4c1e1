"""Writes which operators check the devices of their arguments on a real build.

device_check.cpp includes the result.

    device_checks.py OUTPUT TORCH

TORCH is the folder of the package torch. The script reads native_functions.yaml (in torchgen, beside
torch) line by line, so that no YAML parser is needed.
The rules are those of torchgen/dest/register_dispatch_key.py: a generated wrapper checks devices if
the backend has a kernel and the entry does not say `device_check: NoCheck`. For operators that use
TensorIterator, the iterator checks them. For other structured operators that no wrapper checks,
what makes the outputs compares `out=` with the first tensor.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

OUT = re.compile(r"\*,.*Tensor\(\w!\)")  # an argument that is written to and has to be named


@dataclass
class Function:
    name: str  # with its overload
    structured: bool = False
    delegate: str = ""
    check: bool = True
    iterator: bool = False
    inherits: bool = False  # its kernel is a TensorIterator
    out: bool = False  # it writes to tensors of the caller that are no inputs
    backends: set[str] = field(default_factory=set)


def functions(lines: list[str]) -> Iterator[Function]:
    current: Function | None = None
    in_dispatch = False
    for line in lines:
        if found := re.match(r"- func: ([\w.]+)\((.*)", line):
            if current:
                yield current
            current, in_dispatch = Function(found[1], out=bool(OUT.search(found[2]))), False
        elif current is None:
            continue
        elif found := re.match(r"    ([\w, ]+):", line):
            if in_dispatch:
                current.backends |= {key.strip() for key in found[1].split(",")}
        elif found := re.match(r"  (\w+):\s*(.*)", line):
            key, value = found[1], found[2]
            in_dispatch = key == "dispatch"
            if key == "structured":
                current.structured = value.startswith("True")
            elif key == "structured_inherits":
                current.inherits = value.startswith("TensorIteratorBase")
            elif key == "ufunc_inner_loop":  # kernels are generated for both
                current.backends |= {"CPU", "CUDA"}
            elif key == "structured_delegate":
                current.delegate = value.split("#")[0].strip()
            elif key == "device_check" and value.startswith("NoCheck"):
                current.check = False
                current.iterator = "TensorIterator" in value
    if current:
        yield current


def source(function: Function, of: Function) -> str | None:
    """What checks the devices; None if nothing does."""
    structured = function.structured or bool(function.delegate)
    if function.check:
        return "kStructured" if structured else "kWrapper"
    if structured and not of.inherits and function.out:
        return "kOutputs"
    return "kIterator" if function.iterator or of.inherits else None


def table(all_functions: dict[str, Function]) -> Iterator[str]:
    for name, function in sorted(all_functions.items()):
        of = all_functions.get(function.delegate, function)
        sort = source(function, of)
        # A kernel of sparse tensors is its operator's own, also where the dense one is delegated.
        sparse = {"SparseCUDA", "SparseCsrCUDA"} & function.backends
        backends = sorted({"CUDA", "MPS"} & of.backends | sparse)
        if sort is None or not backends:
            continue
        mask = " | ".join(f"k{key}" for key in backends)
        yield f'{{"aten::{name}", Source::{sort}, {mask}}},'


def main() -> None:
    path = Path(sys.argv[2]).parent / "torchgen/packaged/ATen/native/native_functions.yaml"
    if not path.is_file():
        sys.exit(f"device_checks.py: {path} is missing: install torch again")
    found = {f.name: f for f in functions(path.read_text().splitlines())}
    Path(sys.argv[1]).write_text("\n".join(table(found)) + "\n")


if __name__ == "__main__":
    main()
