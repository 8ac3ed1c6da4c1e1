"""The report as a page: a table with sorted bars, a plot of the latencies; and that as a picture."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from torchport._files import write_text
from torchport._pages import render
from torchport.deploy.bench.report import BenchmarkReport, BenchmarkRow
from torchport.deploy.bench.text import (
    MIB,
    against,
    between,
    changes,
    conditions,
    milliseconds,
    notes,
    peak_since,
    rate,
    since,
)

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_LONGEST = 0.75  # the share of the latency plot's width for the slowest step; its label follows it


@dataclass(frozen=True)
class _Bar:
    """A bar below a figure. Lengths are shares of the width of the cell."""

    width: float
    spread: tuple[float, float] | None = None


@dataclass(frozen=True)
class _Cell:
    """A figure. ``head`` is the heading of its column, ``soft`` stands after it, less dark."""

    head: str
    text: str
    soft: str = ""
    bar: _Bar | None = None


@dataclass(frozen=True)
class _Line:
    """The row of one mode: its figures, or why there are none."""

    title: str
    cells: list[_Cell]
    reason: str = ""


@dataclass(frozen=True)
class _Strip:
    """The latencies of one mode. Places are shares of the width of the plot; a single step has no
    box and no line, only its mark."""

    title: str
    label: str
    mark: float
    box: tuple[float, float] | None
    end: float


@dataclass(frozen=True)
class _Plot:
    """The latencies of all modes on one axis, which begins at 0."""

    strips: list[_Strip]
    ticks: list[tuple[float, str]]


@dataclass(frozen=True)
class _Batch:
    """What the page shows for one batch size."""

    size: int
    lines: list[_Line]
    plot: _Plot | None


def _in_order(report: BenchmarkReport, batch: int) -> list[BenchmarkRow]:
    """The rows as the bars are sorted: the fastest first; without times, the smallest first. Rows
    without figures are last."""
    rows = [row for row in report.rows if row.batch == batch]
    measured = [row for row in rows if row.status == "measured"]
    measured.sort(key=lambda row: -row.throughput if report.timed else row.peak)
    return measured + [row for row in rows if row.status != "measured"]


def _lines(rows: list[BenchmarkRow], report: BenchmarkReport) -> Iterator[_Line]:
    measured = [row for row in rows if row.status == "measured"]
    fastest = max((max(r.throughput, (r.interval or (0, 0))[1]) for r in measured), default=0) or 1
    largest = max((row.peak for row in measured), default=0) or 1
    for row in rows:
        if row.status != "measured":
            yield _Line(row.title, [], f"{row.status}: {row.reason}")
            continue
        cells = list(_times(row, report, fastest)) if report.timed else []
        cells.append(_Cell("peak MiB", f"{row.peak / MIB:,.0f}", bar=_Bar(row.peak / largest)))
        if report.device != "cpu":
            cells.append(_Cell("reserved MiB", f"{row.reserved / MIB:,.0f}"))
        if report.earlier:
            cells += [_Cell("samples/s now/then", *since(row))] if report.timed else []
            cells.append(_Cell("peak now/then", peak_since(row)))
        yield _Line(row.title, cells)


def _times(row: BenchmarkRow, report: BenchmarkReport, fastest: float) -> Iterator[_Cell]:
    low_high = row.interval
    whisker = (low_high[0] / fastest, low_high[1] / fastest) if low_high else None
    bar = _Bar(row.throughput / fastest, whisker)
    yield _Cell("samples/s", rate(row.throughput), between(low_high), bar)
    if report.reference:
        yield _Cell(f"against {report.reference}", *against(row, report))
    if report.rounds > 1:
        yield _Cell("rank", str(row.rank) if row.rank else "")
    for name in ("p50", "p90", "p99"):
        yield _Cell(f"{name} ms", milliseconds(getattr(row, name)))


def _plot(rows: list[BenchmarkRow]) -> _Plot | None:
    rows = sorted((row for row in rows if row.status == "measured"), key=lambda row: row.p50)
    slowest = max((row.p99 for row in rows), default=0)
    if not slowest:
        return None
    scale = _LONGEST / slowest
    strips = []
    for row in rows:
        several = row.steps > 1
        label = f"{milliseconds(row.p50)} ms" + ("" if several else ", one step")
        box = (row.p10 * scale, row.p90 * scale) if several else None
        end = (row.p99 if several else row.p50) * scale
        strips.append(_Strip(row.title, label, row.p50 * scale, box, end))
    step = _tick(slowest)
    ticks = [(n * step * scale, milliseconds(n * step)) for n in range(int(slowest / step) + 1)]
    return _Plot(strips, ticks)


def _tick(longest: float) -> float:
    """The distance of the ticks of an axis: 1, 2 or 5 times a power of ten; three to six fit."""
    power = 10.0 ** math.floor(math.log10(longest / 2.5))
    return next(n * power for n in (1, 2, 5, 10) if longest / (n * power) < 6)


def page(report: BenchmarkReport) -> str:
    """Returns the report as a self-contained HTML page."""
    batches = []
    for batch in report.batches:
        rows = _in_order(report, batch)
        plot = _plot(rows) if report.timed else None
        batches.append(_Batch(batch, list(_lines(rows, report)), plot))
    return render(
        "bench.html",
        report=report,
        conditions=conditions(report),
        batches=batches,
        notes=list(notes(report)),
        changes=list(changes(report)),
    )


def write_page(report: BenchmarkReport, path: str | Path) -> None:
    """Writes the page, completely or not at all. Raises OSError."""
    write_text(path, page(report))


def write_png(report: BenchmarkReport, path: str | Path) -> None:
    """Writes a picture of the page, made by Chromium. ValueError if that is missing or fails."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise ValueError("torchport: a PNG needs Chromium, which was not found; use --html")
    height = 400 + 200 * len(report.batches) + (80 if report.timed else 52) * len(report.rows)
    with tempfile.TemporaryDirectory() as folder:
        source, picture = Path(folder, "page.html"), Path(folder, "page.png")
        write_page(report, source)
        # Chromium does not start its sandbox as root.
        plain = ["--no-sandbox"] if os.geteuid() == 0 else []
        done = subprocess.run(
            [
                browser,
                "--headless",
                "--disable-gpu",
                *plain,
                "--hide-scrollbars",
                f"--user-data-dir={folder}/profile",
                f"--window-size=1120,{height}",
                f"--screenshot={picture}",
                source.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if not picture.is_file():
            raise ValueError(
                f"torchport: Chromium did not write a picture: {done.stderr.strip()[-300:]}"
            )
        shutil.move(picture, path)
