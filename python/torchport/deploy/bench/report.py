"""The results of a benchmark as data and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from torchport.deploy.bench.statistics import Ratio


@dataclass(frozen=True)
class Change:
    """The figures of a row divided by those of the same mode and batch size in an earlier run.

    Attributes:
        missing: Why there is nothing to compare with; empty if there is.
        throughput: The ratio of the samples per second. 80 % of the rounds of both runs lie between
            its ends. None if one of the runs has no times.
        peak: The ratio of the peak memory. A run measures it once, so it has no spread.
    """

    missing: str
    throughput: Ratio | None = None
    peak: float | None = None


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
        p10: The seconds within which 10 % of the steps ended.
        p50: The median latency of a step in seconds.
        p90: The seconds within which 90 % of the steps ended.
        p99: The seconds within which 99 % of the steps ended.
        steps: The number of steps.
        throughput: Samples per second, the median of the rounds.
        throughput_low: A tenth of the rounds had fewer samples per second; None after one round.
        throughput_high: A tenth of the rounds had more samples per second; None after one round.
        against: The speed compared with the report's reference mode.
        rank: The place among the modes that do not train, from 1; 0 if there is none.
        prepared: The seconds to load, compile and warm up.
        earlier: This row's figures divided by those of an earlier run, if one was given.

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
    p10: float = 0
    p50: float = 0
    p90: float = 0
    p99: float = 0
    steps: int = 0
    throughput: float = 0
    throughput_low: float | None = None
    throughput_high: float | None = None
    against: Ratio | None = None
    rank: int = 0
    prepared: float = 0
    earlier: Change | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """`throughput_low` and `throughput_high`; None after one round, which has no spread."""
        if self.throughput_low is None or self.throughput_high is None:
            return None
        return self.throughput_low, self.throughput_high


@dataclass(frozen=True)
class EarlierRun:
    """What is to be known about the run that a report is compared with.

    Attributes:
        file: The name of its file.
        rounds: The number of its rounds.
        differences: The conditions that differ between the runs: model, device, torch, threads.
        only_then: The modes that only the earlier run measured.
    """

    file: str
    rounds: int
    differences: list[str]
    only_then: list[str]


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
        earlier: The run that the rows are compared with, if one was given.

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
    earlier: EarlierRun | None = None

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
            if held.earlier is not None and held.earlier.throughput is not None:
                row["earlier"]["throughput"]["clear"] = held.earlier.throughput.clear
        return json.dumps({"schema": 1, **data}, indent=1) + "\n"

    def __str__(self) -> str:
        from torchport.deploy.bench.text import text

        return text(self)
