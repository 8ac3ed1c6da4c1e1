from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

RELEASE = tuple(int(number) for number in version("torch").split(".")[:2])


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


@pytest.mark.parametrize("level", ["OFF", "DETAIL"])
def test_groups_of_some_ranks(run_virtual, level):
    # With DETAIL every backend is wrapped in one that compares what the ranks call.
    done = run_virtual(Path("subgroups.py"), devices="cuda:4", TORCH_DISTRIBUTED_DEBUG=level)
    # Before torch 2.11 Gloo prints lines of its own, of all ranks at once.
    said = done.stdout.splitlines()
    assert (said if RELEASE >= (2, 11) else said[-1:]) == ["passed"]
