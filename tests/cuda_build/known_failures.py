"""A pytest plugin: the tests of known.json fail with the build of torch for CUDA, for the reason
given there. One that passes is a failure, and so is one that is no test: the list can only shrink."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

KNOWN = {
    row["test"]: row["reason"]
    for row in json.loads(Path(__file__).with_name("known.json").read_text())
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    root = Path(__file__).parents[2]
    found = {f"{item.path.relative_to(root)}::{item.name}": item for item in items}
    files = {name.split("::")[0] for name in found}
    gone = [
        name
        for name in KNOWN
        # A test of a module with devices is one item here, whatever its parameters.
        if name.split("::")[0] in files and not {name, name.partition("[")[0]} & found.keys()
    ]
    if gone and not config.getoption("keyword") and not any("::" in str(a) for a in config.args):
        raise pytest.UsageError(f"known.json: there is no test {', '.join(gone)}")
    for name, reason in KNOWN.items():
        # In a module with devices the inner pytest, which has this plugin too, expects the failure.
        if isinstance(found.get(name), pytest.Function):
            found[name].add_marker(pytest.mark.xfail(reason=reason, strict=True))
