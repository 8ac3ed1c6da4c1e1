"""``torchport verify``: runs a factory's model once and watches it.

Exit codes: 0 verified, 1 not verified (or the model raised), 2 wrong use, 3 an error in torchport.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torchport import _device_kinds, _named, _runtimes
from torchport._files import OutputError, say, write_text
from torchport._printable import complain, printable

_USAGE_ERROR = 2
_INTERNAL_ERROR = 3
_INTERRUPTED = 130


class _WrongUse(Exception):
    pass


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="torchport verify",
        description="Run a model once and report where its tensors are, what mixes devices, and "
        "what is copied.",
        epilog="Name objects as module:name or path/to/file.py:name; a callable model or input is "
        "called without arguments. Exit codes: 0 verified, 1 not verified, 2 wrong use, "
        "3 an error in torchport.",
    )
    add = parser.add_argument
    add("factory", metavar="MODULE:FACTORY", help="the model, or a function that makes it")
    add(
        "--input",
        metavar="MODULE:MAKE",
        help="the input, or a function that makes it: a tuple of arguments, a dict of keyword "
        "arguments, a DataLoader, or the only argument",
    )
    add(
        "--call",
        metavar="MODULE:FUNCTION",
        help="run function(model, *inputs) instead of model(*inputs), for example a training step",
    )
    add(
        "--device",
        help="move the model and its input there: cuda, cuda:1, mps, auto (TORCHPORT_DEVICE, the "
        "profile). A DataLoader's batch is used as it is. By default everything stays where it "
        "was made",
    )
    add(
        "--devices",
        metavar="KIND:N",
        help="virtual devices to run on: cuda:2, xpu:1, mps. The default is virtual devices of the "
        "kind of --device if this machine has no real ones",
    )
    add("--memory", help="memory of each virtual device: 8GiB")
    add("--profile", help="model of the virtual devices: t4, a100-80g")
    add("--eval", action="store_true", help="run under model.eval() and inference_mode()")
    add("--train", action="store_true", help="do not report gradients and training mode")
    add("--finite", action="store_true", help="find the first NaN and the first infinity; slow")
    add(
        "--every-line",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="find the line of every operator, not only of those that make, move or read tensors",
    )
    add(
        "--fail-on",
        choices=["error", "warning"],
        default="warning",
        help="the least severe finding with which the model is not verified; default: warning",
    )
    add(
        "--libraries",
        action="store_true",
        help="also report copies and reads inside installed libraries, which are counted in a note",
    )
    add("--json", action="store_true", help="print the report as JSON")
    add("--html", metavar="FILE", type=Path, help="also write the report as a page to this file")
    return parser


def _made(name: str) -> Any:
    """Calls a factory and returns what it makes. Any other object is returned as it is."""
    thing = _named.find(name)
    from torch import nn

    is_factory = callable(thing) and not isinstance(thing, nn.Module)
    return thing() if is_factory else thing


def _default_devices(device: str) -> str | None:
    """The virtual devices for `--device DEVICE`: none if this machine may have real ones."""
    name, _, index = device.partition(":")
    kind = _device_kinds.find(name)
    if kind is None or _device_kinds.may_exist(kind):
        return None
    if not kind.several:
        return kind.name
    return f"{kind.name}:{int(index) + 1 if index.isdigit() else 1}"


def _set_up_devices(options: argparse.Namespace) -> None:
    from torchport import virtual

    devices = options.devices
    if devices is None and not virtual.enabled():
        devices = _default_devices(options.device or "")
    if devices is None:
        if options.memory or options.profile:
            raise _WrongUse("--memory and --profile need virtual devices: add --devices cuda:1")
        return
    try:
        virtual.enable(devices, memory=options.memory, profile=options.profile)
    except ValueError as error:
        raise _WrongUse(str(error).removeprefix("torchport: ")) from None
    print(f"torchport: virtual devices: {devices}", file=sys.stderr)


def _device(options: argparse.Namespace) -> Any:
    if options.device is None:
        return None
    from torchport._native.devices import choose_device

    try:
        return choose_device(options.device).device
    except (ValueError, RuntimeError) as error:
        raise _WrongUse(str(error).removeprefix("torchport: ")) from None


def _write(path: Path, text: str) -> None:
    try:
        write_text(path, text)
    except OSError as error:
        raise _WrongUse(f"{path} cannot be written: {error.strerror}") from None


def _run(options: argparse.Namespace) -> int:
    if options.eval and options.train:
        raise _WrongUse("--eval and --train cannot be used together")
    _runtimes.require()
    _set_up_devices(options)
    device = _device(options)
    from torchport.observe.verifying import verify

    call: Callable[..., Any] | None = _named.find(options.call) if options.call else None
    # Output of the program goes to standard error, so that standard output has only the report.
    with contextlib.redirect_stdout(sys.stderr):
        model = _made(options.factory)
        inputs = _made(options.input) if options.input else None
        result = verify(
            model,
            inputs,
            device=device,
            call=call,
            evaluate=options.eval,
            training=options.train,
            check_finite=options.finite,
            every_line=options.every_line,
            fail_on=options.fail_on,
            libraries=options.libraries,
        )
    if options.html is not None:
        _write(options.html, result.html())
    say(json.dumps(result.to_dict(), indent=1) if options.json else str(result).rstrip())
    return 0 if result.ok else 1


def _print_error(error: Exception) -> int:
    """Prints the exception that the program raised, without torchport's own frames."""
    own = str(Path(__file__).parent)
    frames = traceback.extract_tb(error.__traceback__)
    of_program = [f for f in frames if not f.filename.startswith((own, "<frozen"))]
    sys.stdout.flush()
    if not of_program and not isinstance(error, (TypeError, ValueError)):
        traceback.print_exception(error)
        print("torchport: this is an error in torchport; please report it", file=sys.stderr)
        return _INTERNAL_ERROR
    print("torchport: the model was not verified because it raised an exception", file=sys.stderr)
    lines = [*traceback.format_list(of_program), *traceback.format_exception_only(error)]
    print(printable("".join(lines)), end="", file=sys.stderr)
    return 1


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except (_WrongUse, _named.NotFound, OutputError) as error:
        complain(f"torchport verify: {error}")
        return _USAGE_ERROR
    except _runtimes.UnsupportedTorch as error:
        complain(error)
        return _USAGE_ERROR
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception as error:
        return _print_error(error)


if __name__ == "__main__":
    sys.exit(main())
