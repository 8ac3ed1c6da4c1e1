"""The order in which processes get tests: the longest files first, and at the end those that must be alone.

Units (the tests of a file) are handed out by their recorded seconds, the longest first, so that the short
ones at the end even out what the processes have left. A unit has a stage: a test of a later stage starts
when no process has a test of an earlier one any more.

A process of pytest-xdist runs a test only when it knows the next one, or that none follows. Therefore a
process that waits for a stage already has one test of that stage: it finishes the tests before it, and
waits there.
"""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

# How many tests a process has beside the one that it runs; one would make it wait for each next one.
AHEAD = 2


class Stage(NamedTuple):
    """When tests run: the ranks one after the other, and within a rank the groups."""

    rank: int
    group: str = ""


BESIDE_ANY = Stage(0)
BESIDE_NONE = Stage(2)


def beside(group: str) -> Stage:
    """The stage of tests that run beside tests of their own group only."""
    return Stage(1, group)


@dataclass
class Unit:
    """Tests that one process runs one after the other. `name` is what their seconds are recorded for."""

    name: str
    stage: Stage
    tests: list[str]


@dataclass
class Process:
    """What a process has to do: `sent` are the tests that it knows, `backlog` the rest of its unit."""

    sent: list[str] = field(default_factory=list)
    backlog: list[str] = field(default_factory=list)


class WorkQueue:
    """Units that nobody has taken yet, and what each process has."""

    def __init__(self, units: Iterable[Unit], seconds: Mapping[str, float]):
        self.seconds = seconds
        self.usual = statistics.median(seconds.values()) if seconds else 0.0
        self.waiting = list(units)
        self.unit_of = {test: unit for unit in self.waiting for test in unit.tests}
        self.processes: dict[Hashable, Process] = {}
        self.sort()

    def sort(self) -> None:
        def order(unit: Unit) -> tuple[Stage, float, str]:
            return unit.stage, -self.seconds.get(unit.name, self.usual), unit.name

        self.waiting.sort(key=order)

    @property
    def is_finished(self) -> bool:
        return not self.waiting and not any(p.sent or p.backlog for p in self.processes.values())

    def stage_of(self, test: str) -> Stage:
        return self.unit_of[test].stage

    def is_open(self, stage: Stage, name: Hashable) -> bool:
        """Whether the process may start a test of the stage: nobody else has to do what comes before."""
        if self.waiting and self.waiting[0].stage < stage:
            return False
        others = (p for other, p in self.processes.items() if other != name)
        return not any(self.stage_of(t) < stage for p in others for t in p.sent + p.backlog)

    def running(self) -> list[str]:
        """The names of the units that run now; a process that waits for its stage runs none."""
        first = [
            (name, process.sent[0])
            for name, process in list(self.processes.items())
            if process.sent
        ]
        return [self.unit_of[t].name for name, t in first if self.is_open(self.stage_of(t), name)]

    def join(self, name: Hashable) -> None:
        self.processes[name] = Process()

    def finished(self, name: Hashable, test: str) -> None:
        self.processes[name].sent.remove(test)

    def leave(self, name: Hashable) -> str | None:
        """The process has ended. Returns the test that it ran if it did not end by itself; what it had
        to do after it waits again."""
        process = self.processes.pop(name)
        if not process.sent:
            return None
        running, *left = process.sent + process.backlog
        for unit in {id(self.unit_of[test]): self.unit_of[test] for test in left}.values():
            tests = [test for test in left if self.unit_of[test] is unit]
            again = Unit(unit.name, unit.stage, tests)
            self.unit_of |= dict.fromkeys(tests, again)
            self.waiting.append(again)
        self.sort()
        return running

    def take(self, name: Hashable) -> bool:
        """Gives the process a unit. One process alone gets all the tests that nothing may run beside."""
        if not self.waiting:
            return False
        stage = self.waiting[0].stage
        others = (p for other, p in self.processes.items() if other != name)
        if stage == BESIDE_NONE and any(
            self.stage_of(t) == stage for p in others for t in p.sent + p.backlog
        ):
            return False
        self.processes[name].backlog += self.waiting.pop(0).tests
        return True

    def tests_for(self, name: Hashable) -> tuple[list[str], bool]:
        """The tests to send to the process now, and whether it gets no further ones. A process that has
        nothing gets one unit, so that others have theirs before it gets a second one: ask twice."""
        process, tests = self.processes[name], []
        had_none = not process.sent
        while True:
            may_start = all(self.is_open(self.stage_of(test), name) for test in process.sent)
            if not process.backlog:
                if len(process.sent) > 1 or (had_none and tests):
                    return tests, False
                if not self.take(name):
                    return tests, may_start
            if not may_start or len(process.sent) > AHEAD:
                return tests, False
            tests.append(process.backlog.pop(0))
            process.sent.append(tests[-1])
