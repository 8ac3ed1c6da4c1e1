"""``torchport export``: the command for torchport.export."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torchport import _named as named
from torchport._files import OutputError, say
from torchport._printable import complain
from torchport._program_errors import print_error
from torchport._quantities import size
from torchport._runtimes import UnsupportedTorch, require
from torchport.deploy.artefact import formats, servers
from torchport.deploy.artefact.errors import ExportError, NotVerified

if TYPE_CHECKING:
    from torchport.deploy.artefact.exporting import Exported
    from torchport.deploy.artefact.parity import Parity

_DTYPES = ("float64", "float32", "float16", "bfloat16")


def main(words: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0 if the artefact was written, 1 if the model cannot be exported, the
    artefact does not compute the same or the program raises an exception, 2 for wrong use, 3 for an
    error in torchport, 130 on ctrl-C.
    """
    options = _parser().parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: _stop())
    try:
        done = _run(options)
    except KeyboardInterrupt:
        return 130
    except UnsupportedTorch as error:
        complain(error)
        return 2
    except named.NotFound as error:
        complain(f"torchport export: {error}")
        return 2
    except ExportError as error:
        if _is_interrupt(error):
            return 130
        complain(f"torchport export: {error}")
        if not isinstance(error, NotVerified) and options.traceback and error.__cause__:
            traceback.print_exception(error.__cause__)
        return 1
    except BaseException as error:  # of the program, whatever it raises
        if _is_interrupt(error):
            return 130
        return print_error(error, "nothing was exported: the program raised an exception")
    try:
        say(report(done))
    except OutputError as error:
        complain(f"torchport export: {error}")
        return 2
    return 0


def report(done: Exported) -> str:
    contract, parity = done.contract, done.parity
    seen = f"{parity.relative:.2g} of the largest element, {parity.absolute:.2g} absolute"
    if parity.top1 is not None:
        seen += f", top-1 {parity.top1:.0%}"
    allowed = parity.tolerance
    rows = [
        ("model", f"{contract['model']}, {contract['dtype']}, weights {_weights(contract)}"),
        *(("input", _tensor(entry)) for entry in contract["inputs"]),
        *(("output", _tensor(entry)) for entry in contract["outputs"]),
        *(("axis", _axis(name, bounds)) for name, bounds in contract["axes"].items()),
        *_rows(contract),
        *(("note", note) for note in done.notes),
        *_constants(contract["constants"]),
        *_returns(contract["returns"]),
        *(("assumes", text) for text in _first(contract["assumes"])),
        ("parity", f"{len(parity.batches)} batches in {parity.runtime}"),
        ("", _kinds(parity)),
        *_left_out(parity),
        ("", f"differs by at most {seen} (allowed {allowed.absolute:g} + {allowed.relative:g})"),
        ("host", _host(contract["host"])),
        ("written", f"{done.path} ({contract['format']}{_opset(contract)}, {_size(done)})"),
    ]
    return "\n".join(f"{name:8} {text}" for name, text in rows)


def _run(options: argparse.Namespace) -> Exported:
    require()
    # torch takes seconds to import, so wrong use is reported before.
    import torch

    from torchport.deploy.artefact.exporting import export

    factory = named.find(options.model)
    inputs = named.find(options.input)
    settings: dict[str, Any] = {}
    if options.dtype is not None:
        settings["dtype"] = getattr(torch, options.dtype)
    if options.tolerance is not None:
        settings["tolerance"] = tuple(options.tolerance)
    return export(
        factory if not isinstance(factory, torch.nn.Module) else lambda: factory,
        inputs() if callable(inputs) else inputs,
        to=options.to,
        path=options.output,
        server=options.server,
        weights=options.weights,
        dynamic=options.dynamic,
        device=options.device,
        opset=options.opset,
        script=options.script,
        allow_baked=options.allow_baked,
        allow_nan=options.allow_nan,
        tell=_teller(options.quiet),
        **settings,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="torchport export",
        description=f"Export a model to one of the formats {', '.join(formats.names())}, and compare "
        "the result with the model. The artefact contains a contract: its inputs, its outputs and "
        "what it needs of a host.",
    )
    add = parser.add_argument
    add(
        "model",
        metavar="MODULE:FACTORY",
        help="function that makes the model; the module is package.module or file.py",
    )
    add(
        "--input",
        required=True,
        metavar="MODULE:NAME",
        help="sample inputs, or a function that makes them",
    )
    add("--to", required=True, choices=formats.names())
    add("--output", "-o", required=True, metavar="PATH")
    add(
        "--server",
        choices=servers.names(),
        help="write a version of a model for this server; PATH is the model's folder in its "
        "repository",
    )
    add(
        "--weights",
        metavar="FILE",
        help="weights to load: safetensors or torch.save; no code in the file is run",
    )
    add("--dynamic", action="append", metavar="AXIS",
        help="batch, NAME:AXIS=LABEL or NAME:AXIS=LABEL[2..512]; repeatable; none for fixed shapes "
        "(default: batch if the model allows it)")  # fmt: skip
    add(
        "--device",
        metavar="DEVICE",
        help="move the model and its inputs there (default: where the model is)",
    )
    add(
        "--dtype",
        choices=_DTYPES,
        help="convert all floating tensors (default: the model's own dtype)",
    )
    add("--opset", type=int, metavar="N", help="ONNX opset (default: the exporter's choice)")
    add(
        "--script",
        action="store_true",
        help="compile TorchScript from source, which keeps control flow",
    )
    add(
        "--allow-baked",
        action="store_true",
        help="allow a trace to keep branches and numbers that it read from the sample's values",
    )
    add(
        "--tolerance",
        nargs=2,
        type=float,
        metavar=("ABS", "REL"),
        help="allowed difference, absolute and relative (default: depends on the dtype)",
    )
    add("--allow-nan", action="store_true", help="allow NaN and Inf in the model's outputs")
    add("--quiet", "-q", action="store_true", help="do not print progress")
    add(
        "--traceback",
        action="store_true",
        help="also print torch's own message when an export fails",
    )
    return parser


def _teller(quiet: bool) -> Any:
    if quiet:
        return lambda _: None
    return lambda text: print(f"torchport export: {text} ...", file=sys.stderr, flush=True)


def _stop() -> None:
    raise KeyboardInterrupt


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether a ctrl-C is behind an error: the start of a compiled module makes an ImportError of it."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _weights(contract: dict[str, Any]) -> str:
    weights = contract["weights"]
    return f"{size(weights['bytes'])} (sha256 {weights['sha256'][:12]})"


def _tensor(entry: dict[str, Any]) -> str:
    return f"{entry['name']}: {entry['dtype']} [{', '.join(map(str, entry['shape']))}]"


def _axis(name: str, bounds: dict[str, Any]) -> str:
    most = "" if bounds["maximum"] is None else bounds["maximum"]
    return f"{name} {bounds['minimum']}..{most}"


def _host(host: dict[str, Any]) -> str:
    told = {"device": "device", "instructions": "CPU with", "cuda": "CUDA", "torch": "torch from"}
    return ", ".join(
        f"{told.get(key, key)} {' '.join(value) if isinstance(value, list) else value}"
        for key, value in host.items()
        if value
    )


def _rows(contract: dict[str, Any]) -> list[tuple[str, str]]:
    if contract["rows_independent"] is not False:
        return []
    return [("rows", "depend on each other: a batch must not be cut, filled up or joined")]


def _constants(constants: dict[str, Any]) -> list[tuple[str, str]]:
    """Arguments that are no inputs of the artefact. None is what nearly all defaults are."""
    values = [f"{name}={value!r}" for name, value in constants.items() if value is not None]
    return [("constant", ", ".join(values))] if values else []


def _returns(returns: dict[str, str]) -> list[tuple[str, str]]:
    if returns["model"] == returns["artefact"] or returns["model"] == "tensor":
        return []
    return [("returns", f"{returns['artefact']} (the model: {returns['model']})")]


def _kinds(parity: Parity) -> str:
    return ", ".join(dict.fromkeys(parity.kinds))


def _left_out(parity: Parity) -> list[tuple[str, str]]:
    rows = [f"not compared: {kind}, because {why}" for kind, why in parity.skipped.items()]
    if parity.sensitive:
        rows.append(
            f"not clear: {', '.join(parity.sensitive)}: rounding changes the model's own results as "
            "much"
        )
    return [("", row) for row in rows]


def _first(texts: list[str], most: int = 5) -> list[str]:
    more = [f"... and {len(texts) - most} more; see the contract"] if len(texts) > most else []
    return texts[:most] + more


def _opset(contract: dict[str, Any]) -> str:
    return f" opset {contract['versions']['opset']}" if "opset" in contract["versions"] else ""


def _size(done: Exported) -> str:
    data = done.path.with_name(done.path.name + ".data")
    return size(os.path.getsize(done.path) + (os.path.getsize(data) if data.exists() else 0))


if __name__ == "__main__":
    sys.exit(main())
