"""The report of `verify` as a self-contained HTML page."""

from __future__ import annotations

from torchport._pages import render
from torchport._quantities import counted, size
from torchport.observe.graph import Drawing
from torchport.observe.result import Verification
from torchport.observe.text import autocast, short, verdict


def page(result: Verification) -> str:
    return render(
        "verify.html",
        result=result,
        drawing=Drawing(result),
        autocast=autocast(result),
        counted=counted,
        short=short,
        size=size,
        verdict=verdict(result),
    )
