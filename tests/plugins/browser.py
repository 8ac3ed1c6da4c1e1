"""How pages look in a real browser, as facts that a test compares.

`look` shows all pages at all widths in one process of Chromium, each in a frame of that width, and
measures them: what sticks out, what overlaps, what is cut. Each page is measured as it opens and with
everything unfolded. The pages' own policy forbids scripts, and it stays: the script is that of the page
around the frames.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
WIDTHS = (390, 1280)

_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)

_MEASURE = r"""
const named = e => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") +
  (e.classList.length ? "." + [...e.classList].join(".") : "") + ": " +
  e.textContent.trim().replace(/\s+/g, " ").slice(0, 50);
const shown = e => { if (!e.checkVisibility()) return false; const b = e.getBoundingClientRect(); return b.width > 0 && b.height > 0; };
const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
  Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
function pairs(elements) {
  const found = [];
  const boxes = elements.map(e => e.getBoundingClientRect());
  for (let i = 0; i < boxes.length; i++)
    for (let k = i + 1; k < boxes.length; k++)
      if (meet(boxes[i], boxes[k])) found.push(named(elements[i]) + " | " + named(elements[k]));
  return found;
}
function measure(doc, view) {
  const all = [...doc.body.querySelectorAll("*")].filter(shown);
  const style = new Map(all.map(e => [e, view.getComputedStyle(e)]));
  const scrolls = e => ["auto", "scroll", "hidden", "clip"].includes(style.get(e)?.overflowX);
  const within = e => { for (let p = e.parentElement; p; p = p.parentElement) if (scrolls(p)) return true; };
  const html = all.filter(e => !e.closest("svg"));
  const inflow = html.filter(e => !style.get(e).display.startsWith("inline") || style.get(e).display == "inline-block")
    .filter(e => ["static", "relative"].includes(style.get(e).position));
  const overlap = [];
  for (const parent of new Set(inflow.map(e => e.parentElement)))
    overlap.push(...pairs(inflow.filter(e => e.parentElement == parent)));
  for (const svg of all.filter(e => e.tagName == "svg"))
    overlap.push(...pairs([...svg.querySelectorAll("text, .box")].filter(shown)));
  const edge = e => { const b = e.getBoundingClientRect(), s = e.closest("svg").getBoundingClientRect();
    return b.left < s.left - 1 || b.right > s.right + 1; };
  return {
    wide: doc.documentElement.scrollWidth - doc.documentElement.clientWidth,
    sticks_out: html.filter(e => !within(e)).filter(e => { const b = e.getBoundingClientRect();
      return b.right > doc.documentElement.clientWidth + 1 || b.left < -1; }).map(named),
    overlap: overlap,
    cut: html.filter(e => scrolls(e) && e.scrollWidth > e.clientWidth + 1).map(named)
      .concat(all.filter(e => e.tagName == "text" && edge(e)).map(named)),
    small: html.filter(e => e.childElementCount == 0 && e.textContent.trim() &&
      parseFloat(style.get(e).fontSize) < 12).map(named),
  };
}
"""

_READ = r"""
window.onload = () => {
  const facts = [...document.querySelectorAll("iframe")].map(frame => {
    const doc = frame.contentDocument, view = frame.contentWindow;
    const seen = {height: doc.documentElement.scrollHeight, folded: measure(doc, view)};
    seen.probe = (probes[frame.name] || (() => null))(doc, view);
    for (const d of doc.querySelectorAll("details")) d.open = true;
    seen.unfolded = measure(doc, view);
    seen.unfolded_height = doc.documentElement.scrollHeight;
    return seen;
  });
  document.body.innerHTML = "<pre id=facts></pre>";
  document.querySelector("#facts").textContent = JSON.stringify(facts);
};
"""


def look(
    pages: dict[str, str], folder: Path, probes: dict[str, str] | None = None
) -> dict[tuple[str, int], dict[str, Any]]:
    """Shows each page at each of WIDTHS, and returns what was measured, by name and width.

    A measurement has `folded` and `unfolded`, each with `wide` (pixels that the page scrolls sideways),
    and lists of what `sticks_out`, what does `overlap`, what is `cut`, and what text is `small`; and
    `height`, `unfolded_height`. ``probes`` are the bodies of functions of (document, window) whose
    values are `probe`.
    """
    own = ",".join(
        f"{json.dumps(name)}: (document, window) => {{{body}}}"
        for name, body in (probes or {}).items()
    )
    frames = "".join(
        f'<iframe name="{name}" srcdoc="{html.escape(text)}" style="width:{width}px;height:900px;border:0"></iframe>'
        for name, text in pages.items()
        for width in WIDTHS
    )
    harness = folder / "harness.html"
    harness.write_text(
        f"<!doctype html><meta charset=utf-8><body>{frames}<script>const probes = {{{own}}};"
        f"{_MEASURE}{_READ}</script></body>"
    )
    run = subprocess.run(
        [
            CHROMIUM,
            *_FLAGS.split(),
            f"--user-data-dir={folder}/profile",
            "--dump-dom",
            harness.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = re.search(r'<pre id="facts">(.*?)</pre>', run.stdout, re.S)
    assert found, run.stdout[-500:] + run.stderr[-500:]
    facts = json.loads(html.unescape(found[1]))
    keys = [(name, width) for name in pages for width in WIDTHS]
    return dict(zip(keys, facts, strict=True))
