"""The report as a page with plots, and the page as a picture."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from torchport._files import write_text
from torchport._pages import render
from torchport._quantities import size
from torchport.deploy.bench.report import BenchmarkReport, BenchmarkRow, rate

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_LONGEST = 0.7  # the share of the width for the longest bar; its label follows it


@dataclass(frozen=True)
class _Bar:
    """One bar of a plot. Lengths are shares of the width of the plot."""

    title: str
    label: str
    width: float
    spread: tuple[float, float] | None = None

    @property
    def end(self) -> float:
        """Where the label begins."""
        return max(self.width, self.spread[1]) if self.spread else self.width


@dataclass(frozen=True)
class _Chart:
    """A plot with one horizontal bar for each row."""

    title: str
    bars: list[_Bar]


def _chart(
    title: str,
    rows: list[BenchmarkRow],
    value: Callable[[BenchmarkRow], float],
    label: Callable[[BenchmarkRow], str],
    spread: Callable[[BenchmarkRow], tuple[float, float]] | None = None,
) -> _Chart:
    """Makes a plot with one bar for each row, and with the spread as a whisker."""
    top = max((max(value(r), spread(r)[1] if spread else 0) for r in rows), default=0) or 1
    scale = _LONGEST / top
    bars = []
    for row in rows:
        ends = None
        if spread is not None:
            low, high = spread(row)
            ends = (low * scale, high * scale)
        bars.append(_Bar(row.title, label(row), value(row) * scale, ends))
    return _Chart(title, bars)


def _charts(report: BenchmarkReport) -> Iterator[_Chart]:
    for batch in report.batches:
        rows = [r for r in report.rows if r.batch == batch and r.status == "measured"]
        yield _chart(f"Peak memory, batch {batch}", rows, lambda r: r.peak, lambda r: size(r.peak))
        if report.timed:
            yield _chart(
                f"Samples per second, batch {batch}",
                [r for r in rows if r.mode != "train"],
                lambda r: r.throughput,
                lambda r: rate(r.throughput) + (f", rank {r.rank}" if r.rank else ""),
                lambda r: (r.throughput_low, r.throughput_high),
            )


def page(report: BenchmarkReport) -> str:
    """Returns the report as a self-contained HTML page."""
    threads = f", {report.threads} threads" if report.device == "cpu" else ""
    rounds = f", {report.rounds} interleaved rounds" if report.timed else ""
    conditions = f"{report.device} ({report.device_name}){threads}, torch {report.torch}{rounds}"
    return render("bench.html", report=report, conditions=conditions, charts=list(_charts(report)))


def write_page(report: BenchmarkReport, path: str | Path) -> None:
    """Writes the page, completely or not at all. Raises OSError."""
    write_text(path, page(report))


def write_png(report: BenchmarkReport, path: str | Path) -> None:
    """Writes a picture of the page, made by Chromium. ValueError if that is missing or fails."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise ValueError("torchport: a PNG needs Chromium, which was not found; use --html")
    rows = sum(row.status == "measured" for row in report.rows)
    height = 280 + 140 * len(report.batches) + 62 * rows + 19 * len(report.rows)
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
                f"--window-size=1000,{height}",
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
