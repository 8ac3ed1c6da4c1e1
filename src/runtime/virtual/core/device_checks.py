"""Writes which operators check the devices of their arguments on a real build.

device_check.cpp includes the result.

    device_checks.py OUTPUT TORCH

TORCH is the folder of the package torch. The script reads native_functions.yaml (in torchgen, beside
torch) line by line, so that no YAML parser is needed.
The rules are those of torchgen/dest/register_dispatch_key.py: a generated wrapper checks devices if
the backend has a kernel and the entry does not say `device_check: NoCheck`. For operators that use
TensorIterator, the iterator checks them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Function:
    name: str  # with its overload
    structured: bool = False
    delegate: str = ""
    check: bool = True
    iterator: bool = False
    backends: set[str] = field(default_factory=set)


def functions(lines: list[str]) -> Iterator[Function]:
    current: Function | None = None
    in_dispatch = False
    for line in lines:
        if found := re.match(r"- func: ([\w.]+)\(", line):
            if current:
                yield current
            current, in_dispatch = Function(found[1]), False
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
            elif key == "ufunc_inner_loop":  # kernels are generated for both
                current.backends |= {"CPU", "CUDA"}
            elif key == "structured_delegate":
                current.delegate = value.split("#")[0].strip()
            elif key == "device_check" and value.startswith("NoCheck"):
                current.check = False
                current.iterator = "TensorIterator" in value
    if current:
        yield current


def table(all_functions: dict[str, Function]) -> Iterator[str]:
    for name, function in sorted(all_functions.items()):
        if not function.check and not function.iterator:
            continue
        of = all_functions.get(function.delegate, function)
        backends = [key for key in ("CUDA", "MPS") if key in of.backends]
        if not backends:
            continue
        sort = "kIterator"
        if function.check:
            sort = "kStructured" if function.structured or function.delegate else "kWrapper"
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
