"""The results of a benchmark as data, as a table and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from torchport.deploy.bench.statistics import Ratio

MIB = 2**20


@dataclass
class Row:
    """A mode at a batch size. Times are in seconds, memory is in bytes, throughput in samples per
    second."""

    mode: str
    title: str
    batch: int
    status: str = "measured"  # or "skipped", "failed"
    reason: str = ""
    peak: int = 0
    reserved: int = 0  # the memory that an accelerator's allocator reserved
    p50: float = 0
    p90: float = 0
    p99: float = 0
    steps: int = 0
    throughput: float = 0
    throughput_low: float = 0  # 80 % of the rounds lie between low and high
    throughput_high: float = 0
    against: Ratio | None = None  # the speed compared with the report's reference mode
    rank: int = 0
    prepared: float = 0  # seconds to load, compile and warm up


@dataclass
class Report:
    """All rows. `timed` is false on virtual devices, because the CPU computes for them."""

    model: str
    device: str
    device_name: str
    torch: str
    threads: int
    rounds: int
    timed: bool
    reference: str
    rows: list[Row] = field(default_factory=list)

    def row(self, mode: str, batch: int | None = None) -> Row:
        """Returns the row of a mode, by default for the first batch size. May raise KeyError."""
        for row in self.rows:
            if row.mode == mode and batch in (None, row.batch):
                return row
        raise KeyError(f"no row {mode!r}" + ("" if batch is None else f" at batch {batch}"))

    @property
    def batches(self) -> list[int]:
        return list(dict.fromkeys(row.batch for row in self.rows))

    def as_json(self) -> str:
        data: dict[str, Any] = asdict(self)
        for row, held in zip(data["rows"], self.rows, strict=True):
            if held.against is not None:
                row["against"]["clear"] = held.against.clear
        return json.dumps({"schema": 1, **data}, indent=1) + "\n"

    def __str__(self) -> str:
        return _text(self)


def _milliseconds(seconds: float) -> str:
    value = seconds * 1e3
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def rate(value: float, digits: int = 4) -> str:
    """A number of samples per second, without an exponent."""
    return f"{value:,.0f}" if value >= 999.5 else f"{value:.{digits}g}"


def _against(row: Row, report: Report) -> str:
    if row.mode == report.reference or row.against is None:
        return ""
    spread = f"{row.against.low:.2f}-{row.against.high:.2f}"
    return f"{row.against.median:.2f}x ({spread})" if row.against.clear else f"same ({spread})"


def _cells(row: Row, report: Report) -> list[str]:
    cells = [row.title]
    if row.status != "measured":
        return [row.title, f"{row.status}: {row.reason}"]
    cells.append(f"{row.peak / MIB:,.0f}")
    if report.device != "cpu":
        cells.append(f"{row.reserved / MIB:,.0f}")
    if report.timed:
        cells += [_milliseconds(row.p50), _milliseconds(row.p90), _milliseconds(row.p99)]
        low, high = rate(row.throughput_low, 3), rate(row.throughput_high, 3)
        cells.append(f"{rate(row.throughput)} ({low}-{high})")
        cells += [_against(row, report), str(row.rank) if row.rank else ""]
    return cells


def _heads(report: Report) -> list[str]:
    heads = ["mode", "peak MiB"]
    if report.device != "cpu":
        heads.append("reserved MiB")
    if report.timed:
        heads += ["p50 ms", "p90 ms", "p99 ms", "samples/s", f"against {report.reference}", "rank"]
    return heads


def _table(rows: list[Row], report: Report) -> list[str]:
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


def _text(report: Report) -> str:
    threads = f", {report.threads} threads" if report.device == "cpu" else ""
    rounds = f", {report.rounds} interleaved rounds" if report.timed else ""
    lines = [
        f"{report.model} on {report.device} ({report.device_name}){threads}, torch {report.torch}"
        f"{rounds}, one process for each row"
    ]
    for batch in report.batches:
        lines += ["", f"batch {batch}"]
        lines += _table([row for row in report.rows if row.batch == batch], report)
    lines.append("")
    if report.device == "cpu":
        lines.append(
            "peak: resident memory above that of a process with torch but without a model."
        )
    else:
        lines.append(
            "peak: memory that the device's allocator handed out; reserved: memory that it holds "
            "for that."
        )
    if report.timed:
        lines.append(
            "In brackets: 80 % of the rounds. Modes share a rank if the rounds do not decide "
            "their order."
        )
    else:
        lines.append(
            "A virtual device has the memory of a real one but not its speed, so no times are "
            "given."
        )
    return "\n".join(lines)
