"""The results of a benchmark as a table for a terminal, and the words that the page shares with it."""

from __future__ import annotations

from collections.abc import Iterator

from torchport.deploy.bench.report import BenchmarkReport, BenchmarkRow
from torchport.deploy.bench.statistics import Ratio

MIB = 2**20


def milliseconds(seconds: float) -> str:
    value = seconds * 1e3
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def rate(value: float, digits: int = 4) -> str:
    """A number of samples per second, without an exponent."""
    return f"{value:,.0f}" if value >= 999.5 else f"{value:.{digits}g}"


def between(ends: tuple[float, float] | None) -> str:
    """The interval of samples per second; empty if there is none."""
    return f"({rate(ends[0], 3)}-{rate(ends[1], 3)})" if ends else ""


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def times(ratio: Ratio, same: str) -> tuple[str, str]:
    """A ratio and its interval. ``same`` stands for a ratio whose interval includes 1."""
    if ratio.spread is None:
        return f"{_ratio(ratio.median)}x", ""
    interval = f"({_ratio(ratio.spread[0])}-{_ratio(ratio.spread[1])})"
    return (f"{_ratio(ratio.median)}x" if ratio.clear else same), interval


def against(row: BenchmarkRow, report: BenchmarkReport) -> tuple[str, str]:
    """The ratio to the reference mode, and its interval."""
    if row.mode == report.reference or row.against is None:
        return "", ""
    return times(row.against, "same")


def since(row: BenchmarkRow) -> tuple[str, str]:
    """The ratio of samples per second to the earlier run, and its interval."""
    change = row.earlier
    if change is None or change.throughput is None:
        return (change.missing if change else ""), ""
    return times(change.throughput, "within the spread")


def peak_since(row: BenchmarkRow) -> str:
    """The ratio of the peak memory to the earlier run."""
    change = row.earlier
    return f"{_ratio(change.peak)}x" if change and change.peak is not None else ""


def conditions(report: BenchmarkReport) -> str:
    """What was measured on what."""
    threads = f", {report.threads} threads" if report.device == "cpu" else ""
    rounds = f", {report.rounds} interleaved rounds" if report.rounds > 1 else ", one round"
    return (
        f"{report.device} ({report.device_name}){threads}, torch {report.torch}"
        f"{rounds if report.timed else ''}, one process for each row"
    )


def notes(report: BenchmarkReport) -> Iterator[str]:
    """What the figures are, in sentences."""
    if report.device == "cpu":
        yield "peak: resident memory above that of a process with torch but without a model."
    else:
        yield (
            "peak: memory that the device's allocator handed out; reserved: memory that it holds "
            "for that."
        )
    if not report.timed:
        yield "A virtual device has the memory of a real one but not its speed, so no times are given."
    elif report.rounds > 1:
        yield (
            "In brackets: 80 % of the rounds. Modes share a rank if the rounds do not decide their "
            "order."
        )
    else:
        yield "One round has no spread: there are no intervals, and the modes are not ranked."


def changes(report: BenchmarkReport) -> Iterator[str]:
    """What is to be known about the earlier run, in sentences; nothing if there is none."""
    earlier = report.earlier
    if earlier is None:
        return
    if report.timed:
        yield f"now/then: samples/s and peak memory of this run divided by those of {earlier.file}."
        if report.rounds > 1 and earlier.rounds > 1:
            yield (
                "In its brackets: the spread of both runs. Within the spread: 80 % of the rounds of "
                "one run and of the other overlap."
            )
        else:
            yield "One of the two runs has a single round, so it is not known what is chance."
    else:
        yield f"now/then: the peak memory of this run divided by that of {earlier.file}."
    if earlier.differences:
        yield f"The two runs differ in more than the code: {'; '.join(earlier.differences)}."
    if earlier.only_then:
        yield f"Measured only in {earlier.file}: {', '.join(earlier.only_then)}."


def _cells(row: BenchmarkRow, report: BenchmarkReport) -> list[str]:
    if row.status != "measured":
        return [row.title, f"{row.status}: {row.reason}"]
    cells = [row.title, f"{row.peak / MIB:,.0f}"]
    if report.device != "cpu":
        cells.append(f"{row.reserved / MIB:,.0f}")
    if report.timed:
        cells += [milliseconds(row.p50), milliseconds(row.p90), milliseconds(row.p99)]
        cells.append(f"{rate(row.throughput)} {between(row.interval)}".rstrip())
        cells.append(" ".join(against(row, report)).rstrip())
        if report.rounds > 1:
            cells.append(str(row.rank) if row.rank else "")
    if report.earlier:
        if report.timed:
            cells.append(" ".join(since(row)).rstrip())
        cells.append(peak_since(row))
    return cells


def _heads(report: BenchmarkReport) -> list[str]:
    heads = ["mode", "peak MiB"]
    if report.device != "cpu":
        heads.append("reserved MiB")
    if report.timed:
        heads += ["p50 ms", "p90 ms", "p99 ms", "samples/s", f"against {report.reference}"]
        if report.rounds > 1:
            heads.append("rank")
    if report.earlier:
        heads += ["samples/s now/then"] if report.timed else []
        heads.append("peak now/then")
    return heads


def _table(rows: list[BenchmarkRow], report: BenchmarkReport) -> list[str]:
    heads = _heads(report)
    cells = [_cells(row, report) for row in rows]
    full = [line for line in cells if len(line) == len(heads)]
    widths = [max(len(line[i]) for line in [heads, *full]) for i in range(len(heads))]
    widths[0] = max(len(line[0]) for line in [heads, *cells])

    def lined(line: list[str]) -> str:
        first = line[0].ljust(widths[0])
        if len(line) != len(heads):
            return f"{first}  {line[1]}"
        rest = (text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True))
        return "  ".join([first, *rest]).rstrip()

    return [lined(heads), *(lined(line) for line in cells)]


def text(report: BenchmarkReport) -> str:
    """The report for a terminal."""
    lines = [f"{report.model} on {conditions(report)}"]
    for batch in report.batches:
        lines += ["", f"batch {batch}"]
        lines += _table([row for row in report.rows if row.batch == batch], report)
    return "\n".join([*lines, "", *notes(report), *changes(report)])
