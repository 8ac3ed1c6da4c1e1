"""Pythons that programs start are forks, too, where a fork has all that they would have (fork_hook)."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import fork_servers
import forking
import pytest

TORCHPORT = Path(sys.executable).with_name("torchport")
DEVICES = ("--devices", "cuda:1")  # as many other tests have, so that the server runs already
PROGRAM = """
import os, sys
import torch
net = torch.nn.Linear(8, 4).cuda()
optimizer = torch.optim.Adam(net.parameters())
net(torch.ones(2, 8, device="cuda")).sum().backward()
optimizer.step()
print(sys.argv[1:], torch.get_num_threads(), torch.cuda.mem_get_info()[1], __name__)
print("parent", os.getppid())
"""
# A fork's parent is the server.
PARENT = "import os\nprint('parent', os.getppid())\n"


@pytest.fixture
def servers() -> Iterator[Path]:
    if not (forking.is_on() and forking.IS_OF_CHECKOUT):
        pytest.skip("no forks: TORCHPORT_TESTS_FORK=0, or another environment")
    yield Path(os.environ[forking.FOLDER])


def run(words: list[object], folder: Path, **options) -> subprocess.CompletedProcess:
    said = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    command = [str(TORCHPORT), *map(str, words)]
    return subprocess.run(command, cwd=folder, timeout=120, check=False, **{**said, **options})


def without_hook() -> dict[str, str]:
    return {**os.environ, "TORCHPORT_TESTS_NO_HOOK": "1"}


def parent(folder: Path, devices: tuple[str, ...] = DEVICES, **options) -> int:
    done = run(["run", "-q", *devices, folder / "parent.py"], folder, **options)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[1])


@pytest.fixture
def started(tmp_path: Path, servers: Path) -> Path:
    """A folder with a program whose server runs."""
    (tmp_path / "parent.py").write_text(PARENT)
    parents = [parent(tmp_path) for _ in range(3)]
    assert parents[-1] != os.getpid(), "no fork: what does a session have that its starts have not?"
    return tmp_path


def test_the_second_program_of_a_kind_is_a_fork(tmp_path: Path, servers: Path) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    env = {**os.environ, "TORCH_NO_OTHER_TEST": str(os.getpid())}  # another kind
    found = [parent(tmp_path, env=env) for _ in range(3)]
    assert found[0] == os.getpid() and found[1] == found[2] != os.getpid()


@pytest.mark.own_process
def test_a_session_behind_nohup_has_forks() -> None:
    """One that ignores what a terminal sends, as all do that a script starts with `&`."""
    env = {k: v for k, v in os.environ.items() if k not in (forking.FOLDER, "PYTHONPATH")}
    one = f"{__file__}::test_the_second_program_of_a_kind_is_a_fork"
    said = subprocess.run(
        ["nohup", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", one],
        cwd=Path(__file__).parents[2],
        env=env | {"TORCHPORT_TESTS_FORK": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0 and "1 passed" in said.stdout, said.stdout


def test_a_fork_reports_what_a_new_process_reports(started: Path) -> None:
    (started / "train.py").write_text(PROGRAM)
    reports, outputs = [], []
    for number in range(4):
        report = started / f"report{number}.json"
        words = ["run", "-q", *DEVICES, "--report", "json", "--report-file", report, "train.py", 1]
        done = run(words, started, env=without_hook() if number == 0 else None)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        reports.append(json.loads(report.read_text()))
        outputs.append(done.stdout.partition("parent")[0])
    assert f"parent {os.getpid()}" not in done.stdout
    assert all(one == reports[0] for one in reports) and reports[0]["operators"]
    assert all(one == outputs[0] for one in outputs) and outputs[0]


def test_a_fork_is_planned_as_a_new_process(started: Path) -> None:
    (started / "train.py").write_text(PROGRAM)
    plans, parents = [], []
    for number in range(4):
        words = ["plan", *DEVICES, "--format", "json", "train.py"]
        done = run(words, started, env=without_hook() if number == 0 else None)
        assert done.returncode == 0, done.stderr
        parents.append(re.search(r"parent (\d+)", done.stdout).group(1))
        plan = json.loads(done.stdout[done.stdout.index("{") :])
        plans.append({key: value for key, value in plan.items() if "seconds" not in key})
    assert parents[2] == parents[3]  # the server, and not two processes of `plan`
    assert all(plan == plans[0] for plan in plans) and plans[0]


def test_threads_are_those_of_the_environment(started: Path) -> None:
    (started / "train.py").write_text(PROGRAM)
    for count in ("1", "2", "3"):
        env = os.environ | {"OMP_NUM_THREADS": count}
        done = run(["run", "-q", *DEVICES, "train.py"], started, env=env)
        assert f"[] {count} " in done.stdout
        assert f"parent {os.getpid()}" not in done.stdout


def limit(number: int, value: int):
    return lambda: resource.setrlimit(number, (value, resource.getrlimit(number)[1]))


@pytest.mark.parametrize(
    "options",
    [
        {"preexec_fn": limit(resource.RLIMIT_AS, 64 << 30)},
        {"preexec_fn": limit(resource.RLIMIT_FSIZE, 1 << 30)},
        {"preexec_fn": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN)},
        {"preexec_fn": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])},
        {"env": "PYTHONHASHSEED"},
        {"env": "TORCHPORT_TRACE"},
        {"env": "OMP_NUM_THREADS"},
    ],
    ids=[
        "memory",
        "file size",
        "ignored signal",
        "blocked signal",
        "hash seed",
        "trace",
        "threads by level",
    ],
)
def test_what_a_fork_would_not_have_is_a_process_of_its_own(started: Path, options) -> None:
    if name := options.get("env"):
        options = {"env": os.environ | {name: "3,2" if name.startswith("OMP") else "7"}}
    assert parent(started, **options) == os.getpid()


def test_other_open_files_and_terminals_are_for_a_process_of_its_own(started: Path) -> None:
    reader, writer = os.pipe()
    assert parent(started, pass_fds=(writer,)) == os.getpid()
    os.close(reader), os.close(writer)
    controller, terminal = os.openpty()
    assert parent(started, stdin=terminal) == os.getpid()
    os.close(controller), os.close(terminal)


def test_options_and_plain_pythons_are_left_alone(started: Path, servers: Path) -> None:
    python = sys.executable
    for options in (["-O"], ["-X", "dev"], ["-i"], ["-W", "error"]):
        words = ["run", "-q", *DEVICES, "--", python, *options, "parent.py"]
        done = run(words, started)
        assert int(done.stdout.split()[1]) == os.getpid(), options
    count = len(list(fork_servers.notes(str(servers))))
    plain = subprocess.run([python, "-c", "import os; print(os.getppid())"], capture_output=True)
    assert int(plain.stdout) == os.getpid()
    assert len(list(fork_servers.notes(str(servers)))) == count


@pytest.mark.own_process
def test_own_process_is_one(tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    assert [parent(tmp_path) for _ in range(2)] == [os.getpid()] * 2


def test_unbuffered_output_comes_at_once(started: Path) -> None:
    code = "import os, sys, torch\nprint('a', end=' ')\nsys.stderr.write('b ')\nprint(os.getppid(), end='')\nos._exit(0)\n"
    (started / "cut.py").write_text(code)
    env = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    words = ["run", "-q", *DEVICES, "--", sys.executable]
    outputs = []
    for number in range(3):
        own = {**env, "TORCHPORT_TESTS_NO_HOOK": "1"} if number == 0 else env
        done = run([*words, "-u", "cut.py"], started, env=own)
        outputs.append((done.stdout.split()[:1], done.stderr))
    assert outputs == [(["a"], "b ")] * 3
    assert int(done.stdout.split()[1]) != os.getpid()
