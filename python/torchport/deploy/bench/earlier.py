"""Compares a benchmark with an earlier one, from the file that ``--json`` wrote then."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

from torchport.deploy.bench.report import BenchmarkReport, BenchmarkRow, Change, EarlierRun
from torchport.deploy.bench.statistics import Ratio

_TEXTS = ("model", "device", "device_name", "torch", "reference")
_COUNTS = ("threads", "rounds")
_FIGURES = ("batch", "peak", "reserved", "p50", "p90", "p99", "steps", "throughput")


def read(path: str | os.PathLike[str]) -> BenchmarkReport:
    """Reads a report that `BenchmarkReport.as_json` wrote. Raises ValueError if it is none."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"torchport: {path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise _unlike(path, f"it is not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("schema") != 1:
        raise _unlike(path, '"schema" is not 1')
    _check(path, data, {str: _TEXTS, int: _COUNTS, bool: ("timed",), list: ("rows",)})
    report = BenchmarkReport(**{name: data[name] for name in (*_TEXTS, *_COUNTS, "timed")})
    for row in data["rows"]:
        _check(path, row, {str: ("mode", "title", "status"), (int, float): _FIGURES})
        # An earlier version wrote an interval for a single round, too.
        ends = ("throughput_low", "throughput_high") if report.rounds > 1 else ()
        _check(path, row, {(int, float, type(None)): ends})
        known = {f.name for f in fields(BenchmarkRow)} - {"against", "earlier"}
        once = {"throughput_low", "throughput_high"} - set(ends)
        report.rows.append(BenchmarkRow(**{k: v for k, v in row.items() if k in known - once}))
    return report


def _check(path: Any, found: Any, wanted: dict[Any, tuple[str, ...]]) -> None:
    for kind, names in wanted.items():
        for name in names:
            if not isinstance(found, dict) or not isinstance(found.get(name), kind):
                raise _unlike(path, f'"{name}" is missing or of another type')


def _unlike(path: Any, why: str) -> ValueError:
    return ValueError(f"torchport: {path} is not what `torchport bench --json` writes: {why}")


def compare(now: BenchmarkReport, then: BenchmarkReport, name: str) -> None:
    """Adds to ``now`` what changed since ``then``, whose file is called ``name``."""
    before = {(row.mode, row.batch): row for row in then.rows}
    for row in now.rows:
        if row.status == "measured":
            row.earlier = _change(row, before.get((row.mode, row.batch)), now.timed and then.timed)
    measured = {(row.mode, row.batch) for row in now.rows if row.status == "measured"}
    now.earlier = EarlierRun(
        file=name,
        rounds=then.rounds,
        differences=_differences(now, then),
        only_then=[
            f"{row.mode} (batch {row.batch})"
            for row in then.rows
            if row.status == "measured" and (row.mode, row.batch) not in measured
        ],
    )


def _change(now: BenchmarkRow, then: BenchmarkRow | None, timed: bool) -> Change:
    if then is None:
        return Change("not measured then")
    if then.status != "measured":
        return Change(f"{then.status} then")
    throughput = None
    if timed and now.throughput and then.throughput:
        ends: tuple[float | None, float | None] = (None, None)
        if now.interval and then.interval and min(then.interval) > 0:
            # 1 is between them exactly if the intervals of the two runs have a number in common.
            ends = (now.interval[0] / then.interval[1], now.interval[1] / then.interval[0])
        throughput = Ratio(now.throughput / then.throughput, *ends)
    return Change("", throughput, now.peak / then.peak if then.peak else None)


def _differences(now: BenchmarkReport, then: BenchmarkReport) -> list[str]:
    """The conditions that differ, so that the ratios compare more than one change."""

    def named(report: BenchmarkReport) -> str:
        return f"{report.device} ({report.device_name})"

    pairs = [
        ("model", then.model, now.model),
        ("device", named(then), named(now)),
        ("torch", then.torch, now.torch),
    ]
    if now.device == then.device == "cpu":
        pairs.append(("number of threads", str(then.threads), str(now.threads)))
    return [f"another {what}: {old} then, {new} now" for what, old, new in pairs if old != new]
