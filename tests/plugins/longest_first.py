"""A pytest plugin: `-n 2` runs files by their recorded seconds, longest first, and `alone` tests last.

It takes the place of pytest-xdist's `load` and `loadfile`. All tests of a file run in one process,
because fixtures of a module and modules with devices are made once; a module whose tests share nothing
may say `pytestmark = pytest.mark.split`, then each is handed out for itself. A test that is marked
`alone` runs when all others have ended, in one process; `alone("name")` may run beside others of that
name. `work_queue.py` has the order, and `--record-durations` writes tests/durations.json.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from work_queue import BESIDE_ANY, BESIDE_NONE, Stage, Unit, WorkQueue, beside

HERE = Path(__file__).resolve().parent


def recorded(path: Path) -> dict[str, float]:
    """The seconds of each file, relative to the root."""
    return json.loads(path.read_text()) if path.exists() else {}


def record(path: Path, root: Path, seconds: dict[str, float]) -> None:
    """Writes the seconds of the files that ran; others keep theirs, as long as they exist."""
    rows = recorded(path) | {name: round(value, 1) for name, value in seconds.items()}
    rows = {name: rows[name] for name in sorted(rows) if (root / name).exists()}
    path.write_text(json.dumps(rows, indent=1) + "\n")


def stage_of(item: pytest.Item) -> Stage:
    mark = item.get_closest_marker("alone")
    if mark is None:
        return BESIDE_ANY
    return beside(mark.args[0]) if mark.args else BESIDE_NONE


def units_of(items: list[pytest.Item]) -> list[Unit]:
    """What is handed out as one: the tests of a file that have one stage."""
    units: dict[tuple[str, Stage, str], Unit] = {}
    latest: dict[str, Stage] = defaultdict(lambda: BESIDE_ANY)
    for item in items:
        file = item.nodeid.partition("::")[0]
        latest[file] = max(latest[file], stage_of(item))
    for item in items:
        file = item.nodeid.partition("::")[0]
        # A module with devices runs all its tests at once, so that they have one stage.
        stage = latest[file] if hasattr(item, "inner") else stage_of(item)
        apart = item.nodeid if item.get_closest_marker("split") else ""
        units.setdefault((file, stage, apart), Unit(file, stage, [])).tests.append(item.nodeid)
    return list(units.values())


def scheduler_class() -> type[Any]:
    """Made when it is needed: inner pytests load this plugin, and have no xdist."""
    from xdist.scheduler.loadscope import LoadScopeScheduling

    class LongestFirst(LoadScopeScheduling):
        """Sends the tests of a `WorkQueue` to xdist's processes."""

        def __init__(self, config: pytest.Config, log: Any, plugin: Controller):
            super().__init__(config, log)
            self.plugin = plugin
            self.queue: WorkQueue | None = None
            self.seconds: dict[str, float] = defaultdict(float)

        @property
        def tests_finished(self) -> bool:
            return self.queue is not None and self.queue.is_finished

        @property
        def has_pending(self) -> bool:
            return self.queue is not None and not self.queue.is_finished

        def schedule(self) -> None:
            if self.queue is None:
                if not self._check_nodes_have_same_collection():
                    self.log("**Different tests collected, aborting run**")
                    self.queue = WorkQueue([], {})
                    return
                self.collection = list(next(iter(self.registered_collections.values())))
                self.queue = WorkQueue(self.plugin.units(), self.plugin.recorded)
            for node in self.nodes:
                if node not in self.queue.processes and node in self.registered_collections:
                    self.queue.join(node)
            self.feed()

        def feed(self) -> None:
            assert self.queue is not None and self.collection is not None
            for node in self.nodes * 2:
                if node.shutting_down or node not in self.queue.processes:
                    continue
                tests, is_last = self.queue.tests_for(node)
                if tests:
                    node.send_runtest_some([self.index[test] for test in tests])
                if is_last:
                    node.shutdown()

        @property
        def index(self) -> dict[str, int]:
            if not hasattr(self, "_index"):
                self._index = {test: number for number, test in enumerate(self.collection or [])}
            return self._index

        def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
            assert self.queue is not None and self.collection is not None
            test = self.collection[item_index]
            self.seconds[self.queue.unit_of[test].name] += duration
            self.queue.finished(node, test)
            self.feed()

        def remove_node(self, node: Any) -> str | None:
            del self.assigned_work[node]
            if self.queue is None or node not in self.queue.processes:
                return None
            crashed = self.queue.leave(node)
            self.feed()
            return crashed

    return LongestFirst


class Waiting(threading.Thread):
    """Says what runs when no test has ended for a while: the longest files are at the beginning."""

    def __init__(self, plugin: Controller, seconds: float):
        super().__init__(daemon=True)
        self.plugin, self.seconds = plugin, seconds
        self.ended = threading.Event()

    def run(self) -> None:
        finished = 0.0
        while not self.ended.wait(self.seconds):
            scheduler = self.plugin.scheduler
            queue = getattr(scheduler, "queue", None)
            if queue is not None and sum(scheduler.seconds.values()) == finished:
                self.say(queue)
            finished = sum((scheduler.seconds if scheduler is not None else {}).values())

    def say(self, queue: WorkQueue) -> None:
        terminal = self.plugin.config.pluginmanager.get_plugin("terminalreporter")
        running, waiting = queue.running(), len({unit.name for unit in queue.waiting})
        if running and terminal is not None:
            terminal.write_line(f"\n   running: {', '.join(running)}; {waiting} files wait")


class Controller:
    """In the process that hands out the tests."""

    def __init__(self, config: pytest.Config):
        self.config = config
        # Only the processes that run tests see their marks: each writes its units into a file.
        self.folder = tempfile.TemporaryDirectory(prefix="pytest-units-")
        self.path = Path(config.rootpath, "tests", "durations.json")
        self.recorded = recorded(self.path)
        self.scheduler: Any = None
        self.waiting = Waiting(self, float(os.environ.get("TORCHPORT_TESTS_TELL", "60")))

    def units(self) -> list[Unit]:
        path = next(Path(self.folder.name).iterdir())
        return [
            Unit(name, Stage(*stage), tests) for name, stage, tests in json.loads(path.read_text())
        ]

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["units"] = str(Path(self.folder.name, node.gateway.id))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        if config.getvalue("dist") not in ("load", "loadfile"):
            return None
        self.scheduler = scheduler_class()(config, log, self)
        self.waiting.start()
        return self.scheduler

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        is_whole = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if is_whole and self.config.option.record_durations and self.scheduler is not None:
            record(self.path, self.config.rootpath, self.scheduler.seconds)

    def pytest_unconfigure(self) -> None:
        self.waiting.ended.set()
        self.folder.cleanup()


class Worker:
    """In a process that runs tests."""

    def __init__(self, config: pytest.Config):
        self.path = Path(config.workerinput["units"])  # type: ignore[attr-defined]
        if config.workerinput["workercount"] > 1:  # type: ignore[attr-defined]
            # The processors are taken: what a test builds shall not start a process for each of them.
            for name in ("MAX_JOBS", "CMAKE_BUILD_PARALLEL_LEVEL"):
                os.environ.setdefault(name, "1")

    @pytest.hookimpl(tryfirst=True)  # xdist's own tells the controller that the tests are found
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        units = units_of(session.items)
        self.path.write_text(json.dumps([(u.name, u.stage, u.tests) for u in units]))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-durations",
        action="store_true",
        help="write the seconds of each file into tests/durations.json (with -n)",
    )


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        if "units" in config.workerinput:
            config.pluginmanager.register(Worker(config))
    elif config.getoption("dist", "no") != "no":
        config.pluginmanager.register(Controller(config))
