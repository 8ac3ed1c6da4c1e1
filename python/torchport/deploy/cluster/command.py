"""``torchport infer --engine ray``: the command line."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchport._files import OutputError
from torchport._printable import complain
from torchport._runtimes import UnsupportedTorch, require
from torchport.deploy.cluster import engines
from torchport.deploy.cluster.engines._engine import ClusterError

_ROWS = 256


def main(words: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0 if the results were written, 1 if the artefact, the data or the
    cluster do not fit together, 2 for wrong use, 130 on ctrl-C."""
    options = _parser().parse_args(words)
    try:
        _run(options)
    except KeyboardInterrupt:
        print(
            f"torchport infer: interrupted; the same command goes on from {options.output}.parts",
            file=sys.stderr,
        )
        return 130
    except UnsupportedTorch as error:
        complain(error)
        return 2
    except (ClusterError, OutputError, OSError) as error:
        complain(f"torchport infer: {error}")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="torchport infer",
        description="Run an artefact on the machines of a cluster. Each block of rows that is done is "
        "kept in OUTPUT.parts until all are; the same command goes on where it was interrupted. Each "
        "machine needs torchport and the same torch.",
    )
    add = parser.add_argument
    add("artefact", type=Path, help="the file that torchport export wrote")
    add(
        "inputs", type=Path, nargs="+", help=".npy, .npz, safetensors or torch.save files, in order"
    )
    add("--engine", required=True, choices=engines.names(), help="what runs the workers")
    add(
        "--output",
        "-o",
        type=Path,
        required=True,
        help="a .safetensors file, or .npy for one output",
    )
    add("--batch-size", type=_positive, metavar="N",
        help=f"rows of each call (default: {_ROWS}, or what the contract allows)")  # fmt: skip
    add("--workers", type=_positive, metavar="N",
        help="how many (default: one for each GPU of the cluster, or for each machine)")  # fmt: skip
    add("--threads", type=_positive, default=0, metavar="N", help="CPU cores of each worker")
    add("--address", help="the cluster (default: the one of this machine, or this machine alone)")
    add("--fresh", action="store_true", help="delete the parts of an earlier run first")
    add("--quiet", "-q", action="store_true", help="do not print progress")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return value


def _run(options: argparse.Namespace) -> None:
    require()
    from torchport._native.programs import contract_of
    from torchport.deploy.cluster.engines._engine import Job
    from torchport.deploy.cluster.inputs import Inputs
    from torchport.deploy.cluster.parts import Parts
    from torchport.deploy.cluster.running import run_blocks

    try:
        contract = contract_of(options.artefact)
    except RuntimeError as error:
        raise ClusterError(str(error).splitlines()[0]) from error
    _check(contract, options.output)
    inputs = Inputs(options.inputs, contract)
    rows = _rows_of_a_call(contract, options.batch_size)
    _check_blocks(contract, inputs, rows)
    content = options.artefact.read_bytes()
    plan = {
        "artefact": hashlib.sha256(content).hexdigest(),
        "files": [
            [str(path.absolute()), path.stat().st_size, path.stat().st_mtime_ns, rows_of]
            for path, rows_of in zip(inputs.files, inputs.rows, strict=True)
        ],
        "rows": rows,
    }
    blocks = inputs.blocks(rows)
    names = [entry["name"] for entry in contract["outputs"]]
    parts = Parts(options.output, plan, options.fresh)
    if len(parts.done()) < len(blocks):
        device = contract["host"].get("device") or "cpu"
        job = Job(
            content, options.artefact.name, "cpu" if device == "any" else device, options.threads
        )
        workers = engines.get(options.engine).start(job, options.workers, options.address)
        try:
            run_blocks(workers, inputs, blocks, parts, names, show=not options.quiet)
        finally:
            workers.stop()
    parts.join(names, len(blocks))


def _check(contract: dict[str, Any], output: Path) -> None:
    if not output.absolute().parent.is_dir():
        raise ClusterError(f"cannot write {output}: there is no folder {output.absolute().parent}")
    names = [entry["name"] for entry in contract["outputs"]]
    if output.suffix == ".npy" and len(names) > 1:
        raise ClusterError(
            f"the artefact has the outputs {', '.join(names)}: write a .safetensors file"
        )
    if contract.get("rows_independent") is False:
        raise ClusterError(
            "the rows of a batch depend on each other, so they cannot be spread over workers"
        )
    first = contract["inputs"][0]["shape"][:1]
    for entry in contract["outputs"]:
        if entry["shape"][:1] != first:
            raise ClusterError(
                f"the output {entry['name']} does not have one row for each row of the inputs, so the "
                "blocks cannot be joined"
            )


def _rows_of_a_call(contract: dict[str, Any], wanted: int | None) -> int:
    first = contract["inputs"][0]["shape"][0]
    if isinstance(first, int):
        if wanted not in (None, first):
            raise ClusterError(f"the artefact takes {first} rows in each call, not {wanted}")
        return first
    most = contract["axes"].get(first, {}).get("maximum")
    if most is not None and (wanted or 0) > most:
        raise ClusterError(f"the artefact takes at most {most} rows in each call, not {wanted}")
    return wanted or min(_ROWS, most or _ROWS)


def _check_blocks(contract: dict[str, Any], inputs: Any, rows: int) -> None:
    """The last block of a file may be smaller than the others."""
    first = contract["inputs"][0]["shape"][0]
    least = first if isinstance(first, int) else contract["axes"].get(first, {}).get("minimum", 1)
    for path, count in zip(inputs.files, inputs.rows, strict=True):
        if count % rows and count % rows < least:
            raise ClusterError(
                f"{path} has {count} rows, which leaves {count % rows} for the last call, and the "
                f"artefact takes at least {least}: choose another --batch-size"
            )


if __name__ == "__main__":
    sys.exit(main())
