"""Which kinds of models come through to which formats: the table of docs/models.md.

Each model is exported, which compares the artefact with eager on a dozen batches. What an export
refuses, it refuses in words: any other exception fails. TORCHPORT_UPDATE=1 writes results.json and
the page, each result when it is known; TORCHPORT_KINDS=missing goes on where a run was stopped. With
TORCHPORT_KINDS=all (`make test-kinds`) each kind goes to each format; otherwise the
usual kinds go to pt2 only, whose engine is torchport's own, in `make test-long`, and none is compiled with AOTInductor.
"""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from pathlib import Path

import pytest
import torchport

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import kinds  # noqa: E402
from page import page_of  # noqa: E402

pytestmark = pytest.mark.devices(None, timeout=3000)

RESULTS = HERE / "results.json"
PAGE = HERE.parents[2] / "docs" / "models.md"
UPDATE = bool(os.environ.get("TORCHPORT_UPDATE"))
WHICH = os.environ.get("TORCHPORT_KINDS", "")
KNOWN = json.loads(RESULTS.read_text()) if WHICH == "missing" else {}
CASES = [
    (to, name)
    for to in ("onnx", "torchscript", "pt2", "aoti")
    for name in sorted(kinds.KINDS)
    if WHICH == "all"
    or (WHICH == "missing" and to not in KNOWN.get(name, {}))
    or (WHICH == "" and (to == "pt2" or (to != "aoti" and name in kinds.ODD)))
]


def outcome(name: str, to: str, path: Path) -> str:
    """ "yes", with what the contract limits, or "no: " and what the export says."""
    model, inputs = kinds.made(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            done = torchport.export(model, inputs, to=to, path=path)
        except torchport.ExportError as error:
            assert not path.exists()
            return "no: " + _portable(str(error))
    limits = []
    if not done.contract["axes"]:
        limits.append("one size")
    if why := done.contract["host"].get("python"):
        limits.append(f"needs Python: {_portable(why)}")
    return "yes" if not limits else f"yes, {', '.join(limits)}"


def _portable(text: str) -> str:
    """Two lines of the text, without the folder of this file."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    words = " ".join(lines[:2]).replace(f"{HERE}/", "")
    return re.sub(r"differs by .*", "differs", words)  # by random numbers


def is_long(name: str) -> bool:
    """Other tests export such models, too."""
    return WHICH == "" and name not in kinds.ODD


@pytest.mark.parametrize(
    "to, name",
    [
        pytest.param(to, name, marks=[pytest.mark.long] if is_long(name) else [])
        for to, name in CASES
    ],
)
def test_a_kind_comes_through_or_is_refused_in_words(to, name, tmp_path):
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    seen = outcome(name, to, tmp_path / "model")
    if UPDATE:
        results.setdefault(name, {})[to] = seen
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    else:
        assert seen == results[name][to]


def test_the_page_has_the_results():
    page = page_of(json.loads(RESULTS.read_text()))
    if UPDATE:
        PAGE.write_text(page)
    assert PAGE.read_text() == page
