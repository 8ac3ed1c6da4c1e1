"""What the operators of PyTorch's own database return and take of a device's memory, with data and without.

    operators.py [--only PATTERN] [--table FILE]

Each operator is called on the same arguments in processes whose device differs only in having data.
Of each call is written down, for the results: shape, strides, type, offset, and which argument's memory
they share; and the bytes that are allocated after the call and at its peak, more than before. What is
known to differ stands in operators.toml with its reason; anything else, and anything that stands there
and is alike now, makes this program fail.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "conformance"))

SEED = 20
SAMPLES = 5
DEVICE = "cuda:1,profile=h100-80g"
# The largest tensors that have data on the devices without: a number, as in a plan, and none at all.
SIZES = ("8B", "0")
Table = dict[str, list[str]]

# --- In a process with a device: one line of JSON for each operator ---------------------------------


def memory_of(tensor: Any) -> int | None:
    import torch

    if tensor.layout != torch.strided or tensor.is_nested:
        return None
    return tensor.untyped_storage()._cdata


def description(tensor: Any, known: list[int | None]) -> list[Any]:
    import torch

    if tensor.layout != torch.strided or tensor.is_nested:
        return [str(tensor.layout), str(tensor.dtype), list(tensor.shape), str(tensor.device)]
    own = memory_of(tensor)
    shares = known.index(own) if own in known else -1
    known.append(own)
    what = [str(tensor.device), str(tensor.dtype), list(tensor.shape), list(tensor.stride())]
    bits = [tensor.is_conj(), tensor.is_neg(), tensor.requires_grad]
    return [*what, tensor.storage_offset(), shares, *bits]


def measured(call: Callable[[], Any], inputs: list[Any]) -> tuple[dict[str, Any], Any]:
    """What came of a call, and its value."""
    import torch
    from devices import tensors_of

    gc.collect()  # nothing of an earlier call goes during this one
    torch._C._cuda_clearCublasWorkspaces()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    try:
        value = call()
    except Exception as error:  # to be compared like a result
        return {"error": f"{type(error).__name__}: {error}".split("\n")[0][:200]}, None
    held = torch.cuda.memory_allocated() - before
    peak = torch.cuda.max_memory_allocated() - before
    known = [memory_of(one) for one in inputs]
    results = [description(one, known) for one in tensors_of(value)]
    arguments = [description(one, [])[:5] for one in inputs]
    found = {"results": results, "arguments": arguments, "held": held, "peak": peak}
    return found | {"numbers": [] if results else type(value).__name__}, value


def calls(name: str, dtype: str) -> Iterator[tuple[str, dict[str, Any]]]:
    import numpy
    import torch
    from database import operators
    from devices import Mover, tensors_of

    op, kind = operators()[name], getattr(torch, dtype)
    grad = op.supports_autograd and kind in op.supported_backward_dtypes("cuda")
    torch.manual_seed(SEED)
    random.seed(SEED)
    numpy.random.seed(SEED)
    samples = list(
        itertools.islice(op.sample_inputs("cpu", kind, requires_grad=grad), SAMPLES)
    )

    def moved(sample: Any) -> tuple[Any, list[Any], dict[str, Any], list[Any]]:
        mover = Mover("cuda:0")
        given = mover((sample.input, list(sample.args), dict(sample.kwargs)))
        return *given, list(mover.leaves)

    for i, sample in enumerate(samples):
        first, args, kwargs, inputs = moved(sample)
        found, value = measured(lambda: op.get_op()(first, *args, **kwargs), inputs)
        yield f"{i} forward", found
        results = tensors_of(sample.output_process_fn_grad(value)) if "results" in found else []
        results = [t for t in results if t.requires_grad and t.layout == torch.strided]
        leaves = [t for t in inputs if t.requires_grad]
        if grad and results and leaves:
            sums = [t.sum() for t in results]
            ones = [torch.ones_like(t) for t in sums]
            found, _ = measured(
                lambda: torch.autograd.grad(sums, leaves, ones, allow_unused=True), inputs
            )
            yield f"{i} backward", found
            del sums, ones
        del value, results, leaves
        function = op.get_inplace()
        if function is not None:
            first, args, kwargs, inputs = moved(sample)
            with torch.no_grad():
                found, _ = measured(lambda: function(first, *args, **kwargs), inputs)
            yield f"{i} in place", found


def record(out: Path) -> None:
    """Answers what is written to the standard input, a task a line."""
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    from database import operators

    operators()
    torch.ones(1, device="cuda", requires_grad=True).sum().backward()
    gc.disable()
    gc.freeze()
    with out.open("a") as file:
        for line in sys.stdin:
            name, dtype = json.loads(line)
            found: dict[str, Any] = {}
            try:
                for key, one in calls(name, dtype):
                    found[key] = one
            except Exception as error:  # the sample itself
                found["harness"] = {"error": f"{type(error).__name__}: {error}"[:200]}
            print(json.dumps([name, dtype, found]), file=file, flush=True)


# --- The processes ------------------------------------------------------------------------------------


def recorded(tasks: list[tuple[str, str]], devices: str) -> dict[str, Any]:
    """name -> what its calls gave. An operator that ends the process has only an error."""
    table: dict[str, Any] = {}
    left = list(tasks)
    env = {**os.environ, "TORCHPORT_VIRTUAL": devices, "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "rows")
        while left:
            out.write_text("")
            words = [sys.executable, __file__, "--record", str(out)]
            text = "".join(json.dumps(task) + "\n" for task in left)
            done = subprocess.run(
                words, input=text, text=True, env=env, capture_output=True, check=False
            )
            rows = [json.loads(line) for line in out.read_text().splitlines()]
            table |= {name: found for name, _, found in rows}
            left = left[len(rows) :]
            if left and done.returncode == 0:
                raise RuntimeError(done.stderr[-2000:])
            if left and not rows and len(left) == len(tasks):
                print(done.stderr[-2000:], file=sys.stderr)
            if left:
                end = f"ended the process: {done.returncode} {done.stderr[-300:]}"
                table[left.pop(0)[0]] = {"process": {"error": end}}
    return table


def difference(data: dict[str, Any], none: dict[str, Any]) -> str | None:
    if "error" in data and "error" in none:
        kinds = data["error"].split(":")[0], none["error"].split(":")[0]
        return None if kinds[0] == kinds[1] else f"errors: {data['error']} | {none['error']}"
    if "error" in none:
        return f"refused: {none['error']}"
    if "error" in data:
        return f"only with data: {data['error']}"
    for what in ("results", "arguments", "numbers", "held", "peak"):
        if data[what] != none[what]:
            pairs = [(data[what], none[what])]
            if isinstance(data[what], list) and len(data[what]) == len(none[what]):
                pairs = [(a, b) for a, b in zip(data[what], none[what]) if a != b]
            return f"{what}: {pairs[0][0]} | {pairs[0][1]}"
    return None


def compared(tasks: list[tuple[str, str]]) -> Table:
    """name -> differences, `largest tensor with data: sample call: what: with data | without`."""
    data = recorded(tasks, DEVICE)
    nothing = {"error": "Missing: no such call"}
    table: Table = {name: [] for name, _ in tasks}
    for size in SIZES:
        none = recorded(tasks, f"{DEVICE},data={size}")
        for name, rows in table.items():
            for key in {**data[name], **none[name]}:
                found = difference(data[name].get(key, nothing), none[name].get(key, nothing))
                if found:
                    rows.append(f"{size}: {key}: {found}")
    return table


def known() -> dict[str, str]:
    """Operator -> why it differs."""
    text = (HERE / "operators.toml").read_text()
    return {
        name: entry["reason"] for entry in tomllib.loads(text)["differs"] for name in entry["operators"]
    }


def verdict(table: Table) -> list[str]:
    """What is not as operators.toml says."""
    listed = known()
    wrong = [f"{n}: {rows[0]}" for n, rows in table.items() if rows and n not in listed]
    wrong += [f"{n}: is listed and alike" for n, rows in table.items() if not rows and n in listed]
    return wrong


def all_tasks() -> list[tuple[str, str]]:
    """(operator, type): float32, or where an operator has none of it, the first that it has."""
    env = {k: v for k, v in os.environ.items() if k != "TORCHPORT_VIRTUAL"}
    program = "import json, database; print(json.dumps(database.tasks('float32')))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=HERE.parent / "conformance",
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    return [(n, d) for n, d in json.loads(done.stdout) if ":" not in n]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a pattern of operators' names")
    parser.add_argument("--table", type=Path, help="where to write all that was found, as JSON")
    parser.add_argument("--record", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.record:
        record(arguments.record)
        return 0
    table = compared([one for one in all_tasks() if re.search(arguments.only, one[0])])
    if arguments.table:
        arguments.table.write_text(json.dumps(table, indent=1) + "\n")
    kinds = Counter(
        "same" if not rows else "refused" if any(": refused: " in r for r in rows) else "differs"
        for rows in table.values()
    )
    print(f"{len(table)} operators: {dict(kinds)}")
    wrong = verdict(table)
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
