"""A pytest plugin: test modules that run in a process with virtual devices.

Virtual devices have to be there before `import torch`, and torch shall not stay in the process that
runs all tests. So a module that says which devices it needs,

    pytestmark = pytest.mark.devices("cuda:2")

is not imported here. Its tests are found in its source, and one inner pytest that has the devices runs
all of them that are selected; each test then reports what the inner one reported. `devices(None)` is a
process without devices, and `devices("cuda:2", None)` runs each test in two processes. `memory="1GiB"`
limits the memory of each device, `profile="h200"` is the model, `random="cpu"` draws the CPU's random
numbers, `streams="late"` finds streams that do not wait, and `timeout=600` is how many seconds the module
may take.

The inner pytest is a fork of a process that has imported torch with these devices and pytest (`forking`),
unless the module is also marked with `own_process`.
"""

from __future__ import annotations

import ast
import os
import pickle
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import forking
import pytest
from _pytest.runner import runtestprotocol

# Plugins that no test with devices uses; to import them takes a fifth of the time of a small module.
UNUSED = ("asyncio", "pytest-lsp", "xdist", "xdist.looponfail")


class InnerFailure(Exception):
    """The inner pytest did not run a test to its end; the message says why."""


class InnerRun:
    """The selected tests of one module, run once by an inner pytest with the devices."""

    def __init__(
        self,
        module: DeviceModule,
        devices: str | None,
        *,
        memory=None,
        profile=None,
        random=None,
        streams=None,
        tf32=None,
        timeout=300,
    ):
        self.module, self.devices, self.memory, self.timeout = module, devices, memory, timeout
        self.random, self.streams, self.tf32 = random, streams, tf32
        self.profile = profile
        self.collected: list[str] = []
        self.reports: list[dict[str, Any]] = []
        self.not_collected: list[pytest.CollectReport] = []
        self.ending = self.output = ""

    def settings(self) -> dict[str, str]:
        """The environment that the options of torchport's plugin would make, for `import torch`."""
        parts = {"memory": self.memory, "profile": self.profile, "random": self.random}
        given = [f"{name}={value}" for name, value in parts.items() if value is not None]
        settings = {"TORCHPORT_STREAMS": self.streams, "TORCHPORT_TF32": self.tf32}
        if self.devices is not None:
            settings["TORCHPORT_VIRTUAL"] = ",".join([self.devices, *given])
        return {name: value for name, value in settings.items() if value is not None}

    def options(self) -> list[str]:
        """The options of torchport's plugin, for a pytest that has not imported torch."""
        words = [] if self.devices is None else [f"--torchport-devices={self.devices}"]
        words += [] if self.memory is None else [f"--torchport-memory={self.memory}"]
        words += [] if self.profile is None else [f"--torchport-profile={self.profile}"]
        words += [] if self.random is None else [f"--torchport-random={self.random}"]
        words += [] if self.streams is None else [f"--torchport-streams={self.streams}"]
        words += [] if self.tf32 is None else [f"--torchport-tf32={self.tf32}"]
        return words

    def words(self, tests: list[str], reports: Path) -> list[str]:
        config = self.module.config
        paths = shlex.join([str(Path(__file__).parent), str(self.module.path.parent)])
        words = ["-q", "--no-header", "--no-summary", "--capture=sys", "-W", "ignore"]
        words += ["--log-disable=torch.__trace"]  # many thousand lines, whose making takes long
        words += [
            "-p",
            "no:cacheprovider",
            f"--inner-reports={reports}",
            "-o",
            f"pythonpath={paths}",
        ]
        words += [f"--rootdir={config.rootpath}", f"--tb={config.option.tbstyle}"]
        for name in UNUSED:
            words += ["-p", f"no:{name}"]
        words += ["-v"] * config.option.verbose
        words += [] if config.inipath is None else ["-c", str(config.inipath)]
        for plugin in config.option.plugins or []:
            words += [] if plugin.startswith("no:") else ["-p", plugin]
        return ["-m", "pytest", *words, *tests]

    def command(self, tests: list[str], reports: Path, env: dict[str, str]) -> list[str]:
        """The command of the inner pytest, for which the environment gets what it needs."""
        words = self.words(tests, reports)
        if self.is_own_process() or not forking.is_on():
            return forking.own_command([*words, *self.options()])
        env |= self.settings()
        return forking.command(words, env)

    def items(self) -> list[DeviceTest]:
        items = self.module.session.items
        return [item for item in items if isinstance(item, DeviceTest) and item.inner is self]

    def is_own_process(self) -> bool:
        """Whether the module, or one of the tests that run, is marked so."""
        marked = any(item.get_closest_marker("own_process") for item in self.items())
        return marked or self.module.own_process

    def start(self) -> None:
        """Runs every test of the module that the session selected, unless they have run."""
        if self.ending:
            return
        tests = [item.inner_id for item in self.items()]
        left_out = ("TORCHPORT_VIRTUAL", "PYTEST_ADDOPTS")
        env = {k: v for k, v in os.environ.items() if k not in left_out} | {"OMP_NUM_THREADS": "1"}
        with tempfile.TemporaryDirectory() as folder:
            reports, output = Path(folder, "reports"), Path(folder, "output")
            with output.open("wb") as file:
                try:
                    done = subprocess.run(
                        self.command(tests, reports, env),
                        cwd=self.module.config.rootpath,
                        env=env,
                        stdin=subprocess.DEVNULL,
                        stdout=file,
                        stderr=subprocess.STDOUT,
                        timeout=self.timeout,
                        check=False,
                    )
                    self.ending = f"ended with exit status {done.returncode}"
                except subprocess.TimeoutExpired:
                    self.ending = f"was stopped after {self.timeout} seconds"
            self.output = output.read_text(errors="replace")
            self.read(reports)

    def read(self, path: Path) -> None:
        for row in rows_of(path):
            if isinstance(row, list):
                self.collected = row
            elif row["$report_type"] == "TestReport":
                self.reports.append(row)
            else:
                self.not_collected.append(self.report_of(row))

    def report_of(self, row: dict[str, Any]) -> Any:
        config = self.module.config
        return config.hook.pytest_report_from_serializable(config=config, data=row)


def rows_of(path: Path) -> Iterator[Any]:
    """What an inner pytest wrote until it ended."""
    if not path.exists():
        return
    with path.open("rb") as file:
        while True:
            try:
                yield pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                return


class DeviceTest(pytest.Item):
    """One test function of a `DeviceModule`, with all its parameters."""

    def __init__(self, *, function: ast.FunctionDef, inner: InnerRun, inner_name: str, **options):
        super().__init__(**options)
        self.function, self.inner = function, inner
        self.funcargs = {}  # the hooks of pytest-lsp fail without it
        self.inner_id = f"{self.parent.nodeid}::{inner_name}"
        for decorator in function.decorator_list:
            module, _, name = ast.unparse(decorator).partition("(")[0].rpartition(".")
            # pytest's own marks are the inner pytest's business; `-m` selects by the others.
            if module == "pytest.mark" and name not in ("parametrize", "skip", "skipif", "xfail"):
                self.add_marker(name)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.function.lineno - 1, self.name

    def parameters_of(self, inner_id: str) -> str | None:
        """ "[a]" of an inner test of this one that has parameters, else ""; None if it is another's."""
        rest = inner_id.removeprefix(self.inner_id)
        is_own = inner_id.startswith(self.inner_id) and rest[:1] in ("", "[")
        return rest if is_own else None

    def missing(self) -> list[str]:
        """The inner tests of this one that did not run to their end."""
        ended = {row["nodeid"] for row in self.inner.reports if row["when"] == "teardown"}
        ids = [one for one in self.inner.collected if self.parameters_of(one) is not None]
        return [one for one in ids or [self.inner_id] if one not in ended]

    def reports(self) -> list[pytest.TestReport]:
        """The inner reports of this test. All have its node id, as xdist wants it; those with
        parameters say which. Failures come last, so that `--last-failed` does not lose them."""
        missing, found = self.missing(), []
        for row in self.inner.reports:
            parameters = self.parameters_of(row["nodeid"])
            if parameters is not None and row["nodeid"] not in missing:
                location = (*row["location"][:2], self.name + parameters)
                told = row | {"nodeid": self.nodeid, "location": location}
                found.append(self.inner.report_of(told))
        return sorted(found, key=lambda report: report.failed)

    def runtest(self) -> None:
        self.inner.start()
        missing = self.missing()
        for refused in self.inner.not_collected:
            if refused.skipped:
                reason = refused.longrepr[2].removeprefix("Skipped: ")
                raise pytest.skip.Exception(reason, _use_item_location=True)
            raise InnerFailure(refused.longreprtext)
        if missing:
            raise InnerFailure(
                f"{', '.join(missing)} did not run to its end: the inner pytest "
                f"{self.inner.ending}\n\n{self.inner.output}"
            )

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, InnerFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


class DeviceModule(pytest.File):
    """A test module that is marked with `devices`."""

    def __init__(self, *, tree: ast.Module, mark: ast.Call, **options):
        super().__init__(**options)
        self.tree, self.mark = tree, mark
        self.own_process = has_mark(tree, "own_process")

    def collect(self) -> Iterator[DeviceTest]:
        settings = {word.arg: ast.literal_eval(word.value) for word in self.mark.keywords}
        runs = [InnerRun(self, ast.literal_eval(kind), **settings) for kind in self.mark.args]
        # A test with parameters is one item, unless the command line names one with its parameters.
        named = [str(word).rpartition("::")[2] for word in self.config.args]
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                raise self.CollectError(f"{node.name}: a module with devices has functions only")
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test"):
                continue
            for run in runs:
                name = node.name + (f"[{run.devices or 'cpu'}]" if len(runs) > 1 else "")
                for one in [name, *(word for word in named if word.startswith(f"{name}["))]:
                    inner_name = node.name + one[len(name) :]
                    yield DeviceTest.from_parent(
                        self, name=one, function=node, inner=run, inner_name=inner_name
                    )


def in_pytestmark(tree: ast.Module) -> Iterator[ast.AST]:
    """Every part of what the module assigns to `pytestmark`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            yield from ast.walk(node.value)


def devices_mark(tree: ast.Module) -> ast.Call | None:
    """The call of `pytest.mark.devices`."""
    for node in in_pytestmark(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.devices":
            return node
    return None


def has_mark(tree: ast.Module, name: str) -> bool:
    marks = (node for node in in_pytestmark(tree) if isinstance(node, ast.Attribute))
    return any(ast.unparse(node) == f"pytest.mark.{name}" for node in marks)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> DeviceModule | None:
    source = module_path.read_bytes()
    if b"pytest.mark.devices(" not in source or parent.config.option.inner_reports:
        return None
    tree = ast.parse(source)
    mark = devices_mark(tree)
    return mark and DeviceModule.from_parent(parent, path=module_path, tree=tree, mark=mark)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if not isinstance(item, DeviceTest):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    outer = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in item.reports() + [report for report in outer if not report.passed]:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


class InnerReports:
    """In an inner pytest: writes what was collected and each report into a file, for `InnerRun`."""

    def __init__(self, config: pytest.Config):
        self.config, self.path = config, Path(config.option.inner_reports)

    def write(self, row: Any) -> None:
        with self.path.open("ab") as file:
            pickle.dump(row, file)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.write([item.nodeid for item in session.items])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self.config.hook
        self.write(hook.pytest_report_to_serializable(config=self.config, report=report))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.passed:
            self.pytest_runtest_logreport(report)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--inner-reports", metavar="FILE", help="where an inner pytest writes reports")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "devices(*kinds, memory, profile, random, streams, timeout): the module runs in a process with the devices",
    )
    config.pluginmanager.register(forking)
    if config.option.inner_reports:
        config.pluginmanager.register(InnerReports(config))
