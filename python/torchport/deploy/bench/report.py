"""The results of a benchmark as data, as a table and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from torchport.deploy.bench.statistics import Ratio

MIB = 2**20


@dataclass
class BenchmarkRow:
    """The figures of one mode at one batch size.

    Attributes:
        mode: The name of the mode, such as "eval".
        title: The name of the mode in the table.
        batch: The batch size.
        status: "measured", "skipped" or "failed".
        reason: Why the mode was skipped or failed.
        peak: The peak memory in bytes.
        reserved: The bytes that an accelerator's allocator reserved; 0 on the CPU.
        p50: The median latency of a step in seconds.
        p90: The seconds within which 90 % of the steps ended.
        p99: The seconds within which 99 % of the steps ended.
        steps: The number of steps.
        throughput: Samples per second, the median of the rounds.
        throughput_low: A tenth of the rounds had fewer samples per second.
        throughput_high: A tenth of the rounds had more samples per second.
        against: The speed compared with the report's reference mode.
        rank: The place among the modes that do not train, from 1; 0 if there is none.
        prepared: The seconds to load, compile and warm up.

    Example:
        >>> report = torchport.benchmark("net:make", "net:inputs", modes=["eval"])  # doctest: +SKIP
        >>> row = report.row("eval")  # doctest: +SKIP
        >>> row.status, row.batch, row.peak  # doctest: +SKIP
        ('measured', 8, 1781760)
    """

    mode: str
    title: str
    batch: int
    status: str = "measured"
    reason: str = ""
    peak: int = 0
    reserved: int = 0
    p50: float = 0
    p90: float = 0
    p99: float = 0
    steps: int = 0
    throughput: float = 0
    throughput_low: float = 0
    throughput_high: float = 0
    against: Ratio | None = None
    rank: int = 0
    prepared: float = 0


@dataclass
class BenchmarkReport:
    """The result of `benchmark`. Its text is a table.

    Attributes:
        model: The name of the function that makes the model.
        device: The device that was measured on.
        device_name: The name of the device's model.
        torch: The version of torch.
        threads: The number of CPU threads.
        rounds: The number of rounds.
        timed: Whether times were measured. They are not on virtual devices, because the CPU
            computes for them.
        reference: The mode that the others are compared with; empty if there is none.
        rows: A row for each mode at each batch size.
        batches: The batch sizes.

    Example:
        >>> report = torchport.benchmark("net:make", "net:inputs", modes=["eval"])  # doctest: +SKIP
        >>> report.device, report.reference, report.batches  # doctest: +SKIP
        ('cpu', 'eval', [8])
        >>> [(row.mode, row.status) for row in report.rows]  # doctest: +SKIP
        [('eval', 'measured')]
    """

    model: str
    device: str
    device_name: str
    torch: str
    threads: int
    rounds: int
    timed: bool
    reference: str
    rows: list[BenchmarkRow] = field(default_factory=list)

    def row(self, mode: str, batch: int | None = None) -> BenchmarkRow:
        """Finds the row of a mode.

        Args:
            mode: The name of the mode.
            batch: The batch size. The default is the first one that was measured.

        Returns:
            The row.

        Raises:
            KeyError: The report does not have this row.
        """
        for row in self.rows:
            if row.mode == mode and batch in (None, row.batch):
                return row
        raise KeyError(f"no row {mode!r}" + ("" if batch is None else f" at batch {batch}"))

    @property
    def batches(self) -> list[int]:
        return list(dict.fromkeys(row.batch for row in self.rows))

    def as_json(self) -> str:
        """Makes the report as JSON.

        Returns:
            The text, with the keys of the attributes.
        """
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


def _against(row: BenchmarkRow, report: BenchmarkReport) -> str:
    if row.mode == report.reference or row.against is None:
        return ""
    spread = f"{row.against.low:.2f}-{row.against.high:.2f}"
    return f"{row.against.median:.2f}x ({spread})" if row.against.clear else f"same ({spread})"


def _cells(row: BenchmarkRow, report: BenchmarkReport) -> list[str]:
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


def _heads(report: BenchmarkReport) -> list[str]:
    heads = ["mode", "peak MiB"]
    if report.device != "cpu":
        heads.append("reserved MiB")
    if report.timed:
        heads += ["p50 ms", "p90 ms", "p99 ms", "samples/s", f"against {report.reference}", "rank"]
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


def _text(report: BenchmarkReport) -> str:
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
