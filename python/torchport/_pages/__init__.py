"""HTML pages: one frame, one palette, light and dark, without scripts or network requests.

`frame.html` is the asset of both languages: Jinja fills it here, and CMake embeds it for the reports
that are written in C++ (src/source/report/formats). It knows three names, `title`, `style` and `body`,
and its policy forbids scripts and requests. A page of Python's is a template beside it, which sets
`title` and `style` for itself. What a page is given is escaped, but for `markupsafe.Markup`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, **values: object) -> str:
    """The page that ``template`` makes of ``values``, in the frame."""
    from markupsafe import Markup

    environment = _environment()
    body = environment.get_template(template).make_module(values)
    frame = environment.get_template("frame.html")
    parts = {name: getattr(body, name) for name in ("title", "style")}
    return frame.render(body=Markup(body), **parts) + "\n"
