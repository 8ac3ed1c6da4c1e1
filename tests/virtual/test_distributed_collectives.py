from __future__ import annotations

from pathlib import Path


def test_collectives_give_what_they_must(run_virtual):
    done = run_virtual(Path("collectives.py"))
    passed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("passed:")]
    assert passed == [
        "reductions",
        "movements",
        "exchanges",
        "objects",
        "asynchronous",
        "groups",
        "refusals",
    ]
