"""The report as a page with plots, and as a picture of it."""

from __future__ import annotations

import html
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from torchport._files import write_text
from torchport._quantities import size
from torchport.deploy.bench.report import Report, Row

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_WIDTH, _LABEL, _BAR, _GAP = 920, 260, 20, 10
_STYLE = """
:root { color-scheme: light dark; --ink: #1c2733; --soft: #5b6875; --bar: #3b7dd8; --line: #d5dbe1; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf0; --soft: #9aa7b4; --line: #39434d; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); max-width: 960px; margin: 2em auto; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 2em; } p { color: var(--soft); }
svg text { font: 13px system-ui, sans-serif; fill: var(--ink); } svg .soft { fill: var(--soft); }
svg .bar { fill: var(--bar); } svg .whisker { stroke: var(--ink); stroke-width: 1.5; }
pre { overflow-x: auto; border-top: 1px solid var(--line); padding-top: 1em; font-size: 12px; }
"""


def _bars(
    rows: list[Row],
    value: Callable[[Row], float],
    label: Callable[[Row], str],
    spread: Callable[[Row], tuple[float, float]] | None = None,
) -> str:
    """One horizontal bar a row, with the spread as a whisker."""
    top = max((max(value(r), spread(r)[1] if spread else 0) for r in rows), default=0) or 1
    scale = (_WIDTH - _LABEL - 170) / top
    parts = []
    for number, row in enumerate(rows):
        y = number * (_BAR + _GAP)
        width = value(row) * scale
        parts.append(
            f'<text x="0" y="{y + 15}">{html.escape(row.title)}</text>'
            f'<rect class="bar" x="{_LABEL}" y="{y}" width="{width:.1f}" height="{_BAR}" rx="2"/>'
        )
        end = width
        if spread is not None:
            low, high = (bound * scale for bound in spread(row))
            end = max(width, high)
            middle = y + _BAR / 2
            parts.append(
                f'<path class="whisker" fill="none" d="M{_LABEL + low:.1f} {middle - 5}v10m0 -5'
                f'H{_LABEL + high:.1f}m0 -5v10"/>'
            )
        parts.append(
            f'<text class="soft" x="{_LABEL + end + 8:.1f}" y="{y + 15}">'
            f"{html.escape(label(row))}</text>"
        )
    height = len(rows) * (_BAR + _GAP)
    return f'<svg viewBox="0 0 {_WIDTH} {height}" width="100%" role="img">{"".join(parts)}</svg>'


def page(report: Report) -> str:
    """A page that needs nothing beside itself."""
    parts = [f"<h1>{html.escape(report.model)}</h1>"]
    threads = f", {report.threads} threads" if report.device == "cpu" else ""
    rounds = f", {report.rounds} interleaved rounds" if report.timed else ""
    parts.append(
        f"<p>{html.escape(f'{report.device} ({report.device_name}){threads}')}, torch "
        f"{html.escape(report.torch)}{rounds}</p>"
    )
    for batch in report.batches:
        rows = [r for r in report.rows if r.batch == batch and r.status == "measured"]
        parts.append(f"<h2>Peak memory, batch {batch}</h2>")
        parts.append(_bars(rows, lambda r: r.peak, lambda r: size(r.peak)))
        if report.timed:
            timed = [r for r in rows if r.mode != "train"]
            parts.append(f"<h2>Samples a second, batch {batch}</h2>")
            parts.append(
                _bars(
                    timed,
                    lambda r: r.throughput,
                    lambda r: f"{r.throughput:.4g}" + (f", rank {r.rank}" if r.rank else ""),
                    lambda r: (r.throughput_low, r.throughput_high),
                )
            )
    parts.append(f"<pre>{html.escape(str(report))}</pre>")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>torchport bench: '
        f"{html.escape(report.model)}</title><style>{_STYLE}</style><body>{''.join(parts)}</body></html>\n"
    )


def write_page(report: Report, path: str | Path) -> None:
    """Writes the page, as a whole or not at all. Raises OSError."""
    write_text(path, page(report))


def write_png(report: Report, path: str | Path) -> None:
    """The page as Chromium shows it. ValueError where there is no Chromium, or it makes no picture."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise ValueError("torchport: a PNG needs Chromium, and there is none; use --html")
    rows = sum(row.status == "measured" for row in report.rows)
    height = 280 + 140 * len(report.batches) + 62 * rows + 19 * len(report.rows)
    with tempfile.TemporaryDirectory() as folder:
        source, picture = Path(folder, "page.html"), Path(folder, "page.png")
        write_page(report, source)
        # Chromium refuses its sandbox to root.
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
            raise ValueError(f"torchport: Chromium made no picture: {done.stderr.strip()[-300:]}")
        shutil.move(picture, path)
