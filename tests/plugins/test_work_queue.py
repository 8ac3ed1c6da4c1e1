"""The order in which processes get tests: a simulation of xdist's processes around the queue."""

from __future__ import annotations

import random

import pytest
from work_queue import BESIDE_ANY, BESIDE_NONE, Stage, Unit, WorkQueue, beside


class Simulation:
    """Processes that take as long for a test as `seconds` says, and that, like those of xdist, run a test
    only when they know the next one or that there is none."""

    def __init__(self, queue: WorkQueue, seconds: dict[str, float], processes: int):
        self.queue, self.seconds = queue, seconds
        self.known: dict[int, list[str]] = {}
        self.has_all: dict[int, bool] = {}
        self.running: dict[int, tuple[float, str]] = {}
        self.clock = 0.0
        self.spans: list[tuple[float, float, int, str]] = []
        for name in range(processes):
            self.start(name)

    def start(self, name: int) -> None:
        self.queue.join(name)
        self.known[name], self.has_all[name] = [], False

    def feed(self) -> None:
        for name, known in list(self.known.items()) * 2:
            if self.has_all[name]:
                continue
            tests, self.has_all[name] = self.queue.tests_for(name)
            known += tests
        for name, known in self.known.items():
            if name not in self.running and (len(known) > 1 or (known and self.has_all[name])):
                test = known.pop(0)
                self.running[name] = (self.clock + self.seconds[test], test)
                self.spans.append((self.clock, self.clock + self.seconds[test], name, test))

    def step(self) -> None:
        name = min(self.running, key=lambda one: self.running[one])
        self.clock, test = self.running.pop(name)
        self.queue.finished(name, test)
        self.feed()

    def crash(self, name: int) -> str | None:
        del self.known[name], self.has_all[name]
        self.running.pop(name, None)
        crashed = self.queue.leave(name)
        self.feed()
        return crashed

    def run(self) -> None:
        self.feed()
        while self.running:
            self.step()
        assert self.queue.is_finished, "every process waits for another one"

    def order(self) -> list[str]:
        return [test for *_, test in self.spans]


def units(stage: Stage, **tests: int) -> list[Unit]:
    return [
        Unit(name, stage, [f"{name}::{n}" for n in range(count)]) for name, count in tests.items()
    ]


def simulate(some: list[Unit], seconds: dict[str, float], processes: int = 2) -> Simulation:
    each = {t: seconds.get(u.name, 1.0) / len(u.tests) for u in some for t in u.tests}
    simulation = Simulation(WorkQueue(some, seconds), each, processes)
    simulation.run()
    return simulation


def test_the_longest_file_comes_first_and_an_idle_process_takes_the_next() -> None:
    some = units(BESIDE_ANY, short=1, long=3, middle=2, unknown=1)
    ran = simulate(some, {"short": 1, "middle": 6, "long": 12})
    assert [t.partition("::")[0] for t in ran.order() if t.endswith("::0")] == [
        "long",
        "middle",
        "unknown",  # the median
        "short",
    ]
    assert ran.clock == 12, "the other files ran in the other process meanwhile"


def test_the_tests_of_a_unit_run_in_their_order_in_one_process() -> None:
    some = units(BESIDE_ANY, a=5, b=7, c=1, d=2)
    ran = simulate(some, {"a": 1, "b": 9, "c": 3, "d": 2}, processes=3)
    for unit in some:
        own = [(name, test) for *_, name, test in ran.spans if test in unit.tests]
        assert [test for _, test in own] == unit.tests and len({name for name, _ in own}) == 1


@pytest.mark.parametrize("processes", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(40))
def test_a_stage_waits_for_the_one_before_it(processes: int, seed: int) -> None:
    draw = random.Random(seed)
    some = []
    for stage in (BESIDE_ANY, beside("x"), beside("y"), BESIDE_NONE):
        names = {
            f"{stage.rank}{stage.group}{n}": draw.randint(1, 4) for n in range(draw.randint(0, 5))
        }
        some += units(stage, **names)
    draw.shuffle(some)
    stages = {test: unit.stage for unit in some for test in unit.tests}
    ran = simulate(some, {u.name: draw.uniform(0.1, 9) for u in some}, processes)
    assert sorted(ran.order()) == sorted(stages), "each test runs once"
    for start, end, name, test in ran.spans:
        for other_start, other_end, other, beside_it in ran.spans:
            if name == other or other_end <= start or end <= other_start:
                continue
            assert stages[test] == stages[beside_it] != BESIDE_NONE


def test_processes_have_no_pause_between_short_tests() -> None:
    """A process knows two tests more than it runs, so that it does not wait for the next."""
    queue = WorkQueue(units(BESIDE_ANY, a=9), {})
    queue.join(0)
    assert queue.tests_for(0) == (["a::0", "a::1", "a::2"], False)
    assert queue.tests_for(0) == ([], False)
    queue.finished(0, "a::0")
    assert queue.tests_for(0) == (["a::3"], False)


@pytest.mark.parametrize("stage", [BESIDE_ANY, BESIDE_NONE])
def test_what_a_process_leaves_is_done_by_another_one(stage: Stage) -> None:
    some = [*units(BESIDE_ANY, a=3, b=2), *units(stage, c=6)]
    each = {test: 1.0 for unit in some for test in unit.tests}
    simulation = Simulation(WorkQueue(some, {}), each, 2)
    simulation.feed()
    while not (mine := [n for n, (_, test) in simulation.running.items() if test == "c::2"]):
        simulation.step()
    assert simulation.crash(*mine) == "c::2", "the test that the process ran is not run again"
    simulation.start(2)
    simulation.run()
    assert sorted(simulation.order()) == sorted(each)
    assert simulation.order()[-3:] == ["c::3", "c::4", "c::5"]


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_a_stage_of_single_tests(processes: int) -> None:
    """What is split: a process holds one such test, and another unit, until the stage before it ends."""
    single = [Unit("b", beside("x"), [f"b::{n}"]) for n in range(40)]
    some = [*units(BESIDE_ANY, a=20, c=7), *single, *units(BESIDE_NONE, d=1)]
    ran = simulate(some, {"a": 4, "b": 8, "c": 3}, processes)
    assert len(ran.order()) == 68 and ran.order()[-1] == "d::0"


def test_a_process_that_waits_for_its_stage_runs_nothing() -> None:
    queue = WorkQueue([*units(BESIDE_ANY, a=3), *units(BESIDE_NONE, b=2)], {})
    for name in (0, 1):
        queue.join(name)
        queue.tests_for(name)
    assert queue.running() == ["a"]
    assert queue.tests_for(1) == ([], False), (
        "it has one test of the next stage, and waits before it"
    )
    for test in ("a::0", "a::1", "a::2"):
        queue.finished(0, test)
    assert queue.running() == ["b"]
    assert queue.tests_for(1) == (["b::1"], False) and queue.tests_for(0) == ([], True)


def test_no_tests() -> None:
    queue = WorkQueue([], {})
    queue.join(0)
    assert queue.is_finished and queue.tests_for(0) == ([], True)
