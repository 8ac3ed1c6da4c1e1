"""A pytest plugin: starts of Python that are forks of a process which has imported torch.

`command()` gives the command of one such start; the process is used as any other (`subprocess.run`, its
exit status, a signal). There is one server (`fork_server`) for each environment in which torch would
start differently, shared by all processes of the session and started for its second program; the one
not used for longest ends when there are `fork_servers.MOST`.

A Python that the program itself starts (`torchport run`, `plan`, `export`) is a fork, too: PYTHONPATH
leads it to fork_hook/sitecustomize.py. It does so in the checkout's own environment: other releases of torch,
and environments with Triton or Ray, are tested as users have them.

A test whose subject is the start itself is marked with `own_process`, alone or with its module, and then
every Python that it starts is a new one. So is each whose own environment has a variable that is read at
the start (`fork_servers.STARTS`), or whose command has other options than `-W ignore` and `-u`.
TORCHPORT_TESTS_FORK=0 lets every Python be a new one, to see whether a failure comes from the forks.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import fork_servers
import pytest
from fork_servers import FOLDER, SWITCH

HERE = Path(__file__).parent
IS_OF_CHECKOUT = Path(sys.prefix) == HERE.parents[1] / ".venv"
_in_own_process = False  # whether the running test is marked so


def is_on() -> bool:
    """Whether the running test's Pythons may be forks."""
    return FOLDER in os.environ and os.environ.get(SWITCH) != "0" and not _in_own_process


def command(
    words: Sequence[object],
    environment: Mapping[str, str],
    *,
    own: Mapping[str, str] | None = None,
    modules: Sequence[str] = ("torch",),
) -> list[str]:
    """The command of a Python that gets `words`, as options and a program, and this environment.

    `own` are the variables of the environment that this start alone has. `modules` are what the server
    imports; a program that looks which modules there are needs a process of its own.
    """
    said = [str(word) for word in words]
    options = fork_servers.number_of_options(said)
    own_start = any(map(fork_servers.is_read_at_start, own or {}))
    server = None
    if is_on() and not own_start and fork_servers.can_run(said[options:]):
        server = fork_servers.running(os.environ[FOLDER], environment, modules)
    if server is None:
        return own_command(said)
    return [sys.executable, "-I", "-S", str(HERE / "fork_client.py"), server, str(options), *said]


def own_command(words: Sequence[str]) -> list[str]:
    """The command of a new Python."""
    if FOLDER in os.environ:
        fork_servers.note(os.environ[FOLDER], "own")
    return [sys.executable, *words]


def hook_in(paths: str) -> bool:
    return paths.split(os.pathsep)[0] == os.path.join(os.environ.get(FOLDER, ""), "hook")


def lead_to_hook() -> None:
    """Pythons that are started from now on find the hook."""
    if not IS_OF_CHECKOUT:
        return
    before = os.environ.get("PYTHONPATH")
    if not hook_in(before or ""):
        hook = os.path.join(os.environ[FOLDER], "hook")
        os.environ["PYTHONPATH"] = hook + (os.pathsep + before if before else "")


def lead_past_hook() -> None:
    first, _, rest = os.environ.get("PYTHONPATH", "").partition(os.pathsep)
    if not hook_in(first):
        return
    if rest:
        os.environ["PYTHONPATH"] = rest
    else:
        del os.environ["PYTHONPATH"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    global _in_own_process
    before, _in_own_process = _in_own_process, item.get_closest_marker("own_process") is not None
    if _in_own_process:
        lead_past_hook()
    try:
        return (yield)
    finally:
        _in_own_process = before
        if is_on():
            lead_to_hook()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "own_process: the test is about the start of Python, so that none that it starts is a fork",
    )
    if FOLDER in os.environ:  # of a session around this one
        return
    folder = Path(tempfile.mkdtemp(prefix="torchport-tests-"))
    (folder / "session").write_text(str(os.getpid()))
    (folder / "python").write_text(sys.executable)
    (folder / "surroundings").write_text(fork_servers.surroundings())
    (folder / "hook").mkdir()
    (folder / "hook" / "sitecustomize.py").symlink_to(HERE / "fork_hook" / "sitecustomize.py")
    os.environ[FOLDER] = str(folder)
    if is_on():
        lead_to_hook()
    config.pluginmanager.register(Session(folder))


class Session:
    """What the outermost session does at its end; the servers end with its process."""

    def __init__(self, folder: Path):
        self.folder = folder

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        starts = Counter(fork_servers.notes(str(self.folder)))
        if not starts:
            return
        own = starts["own"] + starts["refused"]
        terminalreporter.write_line(
            f"starts of Python with torch: {starts['forked']} forks of {starts['server']} servers, "
            f"{own} of their own"
            + (f", {starts['first']} of them the first of a kind" * bool(starts["first"]))
            + (f", {starts['refused']} of them refused" * bool(starts["refused"]))
        )
        for path in sorted([*self.folder.glob("*/log"), *self.folder.glob("*/refused")]):
            if text := path.read_text():
                terminalreporter.write_line(f"fork server ({path.name}): {text}")

    def pytest_unconfigure(self) -> None:
        lead_past_hook()
        for folder in fork_servers.servers_by_use(str(self.folder)):
            fork_servers.end(folder)
        os.environ.pop(FOLDER, None)
        shutil.rmtree(self.folder, ignore_errors=True)
