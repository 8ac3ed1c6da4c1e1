"""HTML pages: one frame, one palette, light and dark, without scripts or network requests.

Python and C++ share `frame.html`: Jinja fills it here, and CMake embeds it into the program for the
reports that C++ writes (src/page). It has three placeholders, `title`, `style` and
`body`, and its content security policy forbids scripts and requests. It has the style that pages
share: a table of the class `stack` becomes a list on a narrow screen, where each cell shows its
`data-head`. tests/pages looks at every page at two widths. Each page of Python is a
template in this folder and sets its own `title` and `style`. Values are escaped unless they are
`markupsafe.Markup`.
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
    """Fills ``template`` with ``values`` and returns the page with its frame."""
    from markupsafe import Markup

    environment = _environment()
    body = environment.get_template(template).make_module(values)
    frame = environment.get_template("frame.html")
    parts = {name: getattr(body, name) for name in ("title", "style")}
    return frame.render(body=Markup(body), **parts) + "\n"
