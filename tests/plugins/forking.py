"""A pytest plugin: starts of Python that are forks of a process which has imported torch.

`command()` gives the command of one such start; the process is used as any other (`subprocess.run`, its
exit status, a signal). There is one server (`fork_server`) for each environment in which torch would
start differently, shared by all processes of the session and started when it is first needed; the one
not used for longest ends when there are `MOST`.

A test whose subject is the start itself is marked with `own_process`, alone or with its module, and then
every Python that it starts is a new one. So is each whose own environment has a variable that is read at
the start (`STARTS`), or whose command has other options than `-W ignore`. TORCHPORT_TESTS_FORK=0 lets
every Python be a new one, to see whether a failure comes from the forks.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

SWITCH = "TORCHPORT_TESTS_FORK"
FOLDER = "TORCHPORT_TESTS_SERVERS"  # where a session's servers are
MOST = 12  # servers; each holds about 0.2 GB of its own

# What the interpreter, torch, its libraries and torchport read once, at their start.
STARTS = (
    "ATEN_", "BLIS_", "C10_", "CUBLAS", "CUDA", "CUDNN", "GLIBC_", "GOMP_", "HIP_", "KINETO_", "KMP_",
    "LANG", "LC_", "LD_", "MALLOC_", "MKL", "MPS_", "NCCL_", "NPY_", "NUMEXPR_", "NVIDIA_", "OMP_",
    "ONEAPI_", "ONEDNN_", "OPENBLAS_", "ASCEND_", "PYTHON", "PYTORCH", "ROCR_", "SYCL_", "TMPDIR", "TORCH",
    "TRITON_", "ZE_",
)  # fmt: skip
NOT_READ = (SWITCH, FOLDER, "TORCHPORT_BINARY", "TORCHPORT_CACHE_DIR")

_in_own_process = False  # whether the running test is marked so


def is_read_at_start(variable: str) -> bool:
    return variable.startswith(STARTS) and variable not in NOT_READ


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
    options = 2 if said[:2] == ["-W", "ignore"] else 0
    server = None
    if is_on() and can_run(said[options:]) and not any(map(is_read_at_start, own or {})):
        server = running(said[:options], environment, modules)
    if server is None:
        return own_command(said)
    client = str(Path(__file__).with_name("fork_client.py"))
    return [sys.executable, "-I", "-S", client, str(server), str(options), *said]


def own_command(words: Sequence[str]) -> list[str]:
    """The command of a new Python."""
    note("own")
    return [sys.executable, *words]


def can_run(program: Sequence[str]) -> bool:
    """Whether a fork can be this program; one that sets up devices does so before it imports torch."""
    if any(word.startswith("--device") for word in program):
        return False
    if program[:1] in (["-m"], ["-c"]):
        return len(program) > 1
    return bool(program) and program[0].endswith(".py") and not program[0].startswith("-")


def note(word: str) -> None:
    if FOLDER in os.environ:
        with Path(os.environ[FOLDER], "starts").open("a") as file:
            file.write(word + "\n")


def running(
    options: Sequence[str], environment: Mapping[str, str], modules: Sequence[str]
) -> Path | None:
    """The folder of the server for such starts; None if there can be none."""
    read = sorted((k, v) for k, v in environment.items() if is_read_at_start(k))
    name = hashlib.sha256(repr((sys.executable, options, modules, read)).encode()).hexdigest()[:16]
    servers = Path(os.environ[FOLDER])
    folder = servers / name
    if not (folder / "socket").exists():
        folder.mkdir(exist_ok=True)
        with locked(folder / "lock"):
            if not (folder / "socket").exists() and not (folder / "refused").exists():
                start(folder, options, environment, modules)
    if (folder / "refused").exists():
        return None
    os.utime(folder)
    return folder


class locked:
    """Holds the lock of a file, against other processes of the session."""

    def __init__(self, path: Path):
        self.path = path

    def __enter__(self) -> None:
        self.file = self.path.open("w")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self.file.close()


def start(
    folder: Path, options: Sequence[str], environment: Mapping[str, str], modules: Sequence[str]
) -> None:
    """Starts a server, and waits until it serves."""
    servers = folder.parent
    with locked(servers / "lock"):
        for other in servers_by_use(servers)[: 1 - MOST]:
            end(other)
    session = (servers / "session").read_text()
    program = str(Path(__file__).with_name("fork_server.py"))
    done = subprocess.run(
        [sys.executable, *options, program, str(folder), session, *modules],
        cwd=servers,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    note("server")
    if done.returncode != 0:
        (folder / "refused").write_text(done.stdout + done.stderr)


def servers_by_use(servers: Path) -> list[Path]:
    """The running servers, the one not used for longest first."""
    folders = [path.parent for path in servers.glob("*/socket")]
    return sorted(folders, key=lambda folder: folder.stat().st_mtime)


def end(folder: Path) -> None:
    """Ends a server, once its programs have ended."""
    address = folder / "socket"
    with socket.socket(socket.AF_UNIX) as connection, contextlib.suppress(OSError):
        connection.connect(str(address))
        connection.sendall(bytes(4))
    address.unlink(missing_ok=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    global _in_own_process
    before, _in_own_process = _in_own_process, item.get_closest_marker("own_process") is not None
    try:
        return (yield)
    finally:
        _in_own_process = before


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "own_process: the test is about the start of Python, so that none that it starts is a fork",
    )
    if FOLDER in os.environ:  # of a session around this one
        return
    folder = tempfile.mkdtemp(prefix="torchport-tests-")
    Path(folder, "session").write_text(str(os.getpid()))
    os.environ[FOLDER] = folder
    config.pluginmanager.register(Session(Path(folder)))


class Session:
    """What the outermost session does at its end; the servers end with its process."""

    def __init__(self, folder: Path):
        self.folder = folder

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not (self.folder / "starts").exists():
            return
        starts = Counter((self.folder / "starts").read_text().split())
        own = starts["own"] + starts["refused"]
        terminalreporter.write_line(
            f"starts of Python by helpers: {starts['forked']} forks of {starts['server']} servers, "
            f"{own} of their own"
            + (f", {starts['refused']} of them refused" * bool(starts["refused"]))
        )
        for path in sorted([*self.folder.glob("*/log"), *self.folder.glob("*/refused")]):
            if text := path.read_text():
                terminalreporter.write_line(f"fork server ({path.name}): {text}")

    def pytest_unconfigure(self) -> None:
        for folder in servers_by_use(self.folder):
            end(folder)
        os.environ.pop(FOLDER, None)
        shutil.rmtree(self.folder, ignore_errors=True)
