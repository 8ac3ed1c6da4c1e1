"""``torchport bench``: the command for torchport.benchmark."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torchport import _named as named
from torchport._files import OutputError, say, write_text
from torchport._printable import complain
from torchport._program_errors import is_of_program, print_error
from torchport._runtimes import UnsupportedTorch, require


def main(words: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0 if the modes were measured, 1 if a mode in --modes or every mode
    failed or the program raises an exception, 2 for wrong use, 3 for an error in torchport, 130 on ctrl-C."""
    options = _parser().parse_args(words)
    try:
        return _run(options)
    except KeyboardInterrupt:
        return 130
    except UnsupportedTorch as error:
        complain(error)
        return 2
    except BaseException as error:  # of the program, whatever it raises
        if isinstance(error, (ValueError, OutputError)) and not is_of_program(error):
            complain(f"torchport bench: {str(error).removeprefix('torchport: ')}")
            return 2
        return print_error(error, "nothing was measured: the program raised an exception")


def _run(options: argparse.Namespace) -> int:
    require()
    # Imported late, because torch takes seconds to import and wrong use is reported before.
    from torchport.deploy.bench.measuring import benchmark
    from torchport.deploy.bench.modes import MODES
    from torchport.deploy.bench.page import write_page, write_png

    for spec in (options.model, options.input):
        if options.devices is None:
            named.find(spec)
    modes = options.modes.split(",") if options.modes else list(MODES)
    report = benchmark(
        options.model,
        options.input,
        modes=modes,
        batches=[int(text) for text in options.batch.split(",")] if options.batch else (),
        device=options.device,
        devices=options.devices,
        rounds=options.rounds,
        seconds=options.seconds,
        threads=options.threads,
        timeout=options.timeout,
        against=options.against,
        tell=_progress if sys.stderr.isatty() else lambda _: None,
    )
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    if options.html:
        with _named_in_errors(options.html):
            write_page(report, options.html)
    if options.png:
        with _named_in_errors(options.png):
            write_png(report, options.png)
    if options.json:
        with _named_in_errors(options.json):
            _write(options.json, report.as_json())
    if options.json != "-":
        say(str(report))
    failed = [row for row in report.rows if row.status == "failed"]
    nothing = all(row.status != "measured" for row in report.rows)
    return 1 if nothing or (options.modes and failed) else 0


@contextmanager
def _named_in_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from None


def _write(path: str, text: str) -> None:
    if path == "-":
        say(text.rstrip("\n"))
        return
    write_text(path, text)


def _progress(text: str) -> None:
    print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="torchport bench",
        description="Measure a model in each deployment mode: peak memory, latency, throughput.",
        epilog="Each mode runs in its own process; the modes take turns. With --devices, the "
        "memory of a GPU is measured without a GPU.",
    )
    parser.add_argument(
        "model", help="MODULE:FACTORY or FILE.py:FACTORY; the factory makes the model"
    )
    parser.add_argument(
        "--input",
        required=True,
        metavar="MODULE:MAKER",
        help="function that makes the inputs: a tensor, a tuple or a dict. If it has a parameter, it "
        "gets the batch size",
    )
    parser.add_argument("--batch", metavar="N,N", help="batch sizes (default: the input's own)")
    parser.add_argument(
        "--modes", metavar="NAMES", help="modes to measure: train,eval (default: all)"
    )
    parser.add_argument("--device", help="device to measure on (default: the best available one)")
    parser.add_argument("--devices", metavar="KIND:N", help="virtual devices: cuda:1,memory=16GiB")
    parser.add_argument(
        "--rounds", type=int, default=7, help="number of rounds (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=0.5,
        help="seconds that each mode runs in a round (default: %(default)s)",
    )
    parser.add_argument("--threads", type=int, help="CPU threads (default: torch's own number)")
    parser.add_argument(
        "--timeout",
        type=float,
        default=900,
        help="seconds to wait for an answer of a mode's process; its compilation is included "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--against",
        metavar="FILE",
        help="compare with an earlier run: the file that --json wrote then",
    )
    parser.add_argument(
        "--json", metavar="FILE", help="write all figures as JSON; - is standard output"
    )
    parser.add_argument("--html", metavar="FILE", help="write a page with plots")
    parser.add_argument("--png", metavar="FILE", help="write the page as a picture; needs Chromium")
    return parser


if __name__ == "__main__":
    sys.exit(main())
