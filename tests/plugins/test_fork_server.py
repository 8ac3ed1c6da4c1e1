"""Programs that are forks of a server: what they see and how they end is as in a Python of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import fork_servers
import forking
import pytest
from python_process import run_python

pytest_plugins = ("pytester",)

PROGRAMS = {
    "what a program sees": """
        import os, signal, sys, threading, warnings
        print(sys.argv, sys.orig_argv, sys.path, sys.flags, sys.executable, sys.warnoptions)
        print(sorted((k, str(v).partition(" at 0x")[0]) for k, v in globals().items()))
        print(__file__, os.getcwd(), sorted(os.environ.items()), oct(os.umask(0)))
        print(sys.stdin.read(), sys.stdin.closed, sys.stdout.encoding, sys.stderr.line_buffering)
        print(threading.main_thread().native_id == os.getpid(), os.listdir("/proc/self/fd"))
        print([(n, signal.getsignal(n)) for n in signal.valid_signals()], signal.pthread_sigmask(signal.SIG_BLOCK, []))
        print(warnings.filters, len(os.listdir("/proc/self/task")))
    """,
    "an exit status": "raise SystemExit(7)",
    "an exit with a message": "import sys; sys.exit('for this reason')",
    "an exit at once": "import os; os._exit(3)",
    "an error": """
        def inner():
            return 1 / 0
        def outer():
            try:
                inner()
            except ZeroDivisionError as error:
                raise ValueError("of two") from error
        outer()
    """,
    "a syntax error": "x = (1,\ny = 2\n",
    "an error of a hook": "import sys; sys.excepthook = lambda *a: print('mine', a[0], a[2].tb_lineno); 1 / 0",
    "an interrupt": "raise KeyboardInterrupt",
    "an abort": "import os; print('lost, as it is not flushed'); os.abort()",
    "a signal": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "the end of the interpreter": """
        import atexit, threading, time
        class Last:
            def __del__(self): print("deleted")
        kept = Last()
        atexit.register(print, "at exit")
        def late():
            time.sleep(0.2)
            print("the thread")
        threading.Thread(target=late).start()
        print("the program")
    """,
    "pickles of its own classes": """
        import pickle, sys
        class Point: pass
        print(type(pickle.loads(pickle.dumps(Point()))) is Point, Point.__module__)
        print(sys.modules["__main__"].Point is Point)
    """,
    "processes of its own": """
        import multiprocessing, os, subprocess, sys
        def square(x): return x * x
        if __name__ == "__main__":
            for method in ("fork", "spawn", "forkserver"):
                with multiprocessing.get_context(method).Pool(2) as pool:
                    print(method, pool.map(square, [1, 2, 3]))
            subprocess.run([sys.executable, "-c", "print('child')"], check=True)
            print(os.waitstatus_to_exitcode(os.system("exit 4")))
    """,
}  # fmt: skip

Run = Callable[..., subprocess.CompletedProcess]


@pytest.fixture
def session(tmp_path_factory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a session that has no servers, and ends with the test."""
    folder = tmp_path_factory.mktemp("s")
    (folder / "session").write_text(str(os.getpid()))
    monkeypatch.setenv(forking.FOLDER, str(folder))
    monkeypatch.delenv(forking.SWITCH, raising=False)
    monkeypatch.setattr(fork_servers, "FIRST_IS_OWN", False)
    yield folder
    for server in fork_servers.servers_by_use(str(folder)):
        fork_servers.end(server)


@pytest.fixture
def run(session: Path, tmp_path: Path) -> Run:
    """run(words..., modules=("json",)): the ended program, a fork if it can be one and is not `new`."""

    def run_it(*words: object, modules=("json",), own=None, new=False, **options):
        said = {"stdin": None if "input" in options else subprocess.DEVNULL, "cwd": tmp_path}
        said |= {"env": os.environ | (own or {}), "capture_output": True, "text": True}
        command = forking.command(words, said["env"], own=own, modules=modules)
        if new:
            command = [sys.executable, *map(str, words)]
        return subprocess.run(command, **{**said, "timeout": 60, "check": False, **options})

    return run_it


def starts(session: Path) -> list[str]:
    return (session / "starts").read_text().split()


def program(folder: Path, code: str) -> Path:
    path = folder / "program.py"
    path.write_text(textwrap.dedent(code))
    return path


def assert_same(run: Run, session: Path, words: list[object], **options) -> None:
    """A fork prints what a new Python prints, and ends alike."""
    forked = run(*words, **options)
    assert starts(session) == ["server", "forked"]
    new = run(*words, new=True, **options)
    assert (forked.returncode, forked.stdout) == (new.returncode, new.stdout)
    assert forked.stderr == new.stderr


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("options", [[], ["-W", "ignore"]], ids=["plain", "ignore"])
def test_a_program_runs_as_in_a_new_python(run, session, tmp_path, name, options) -> None:
    path = program(tmp_path, PROGRAMS[name])
    assert_same(run, session, [*options, path, "first", "-second"])


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["-c", "import sys; print(sys.argv, sys.path, sorted(globals()), sys.stdin.read())", "a"], "in"),
        (["-c", "def f(): 1 / 0\nf()"], ""),
        (["-m", "json.tool", "--indent", "1"], "[1]"),
        (["-m", "json.tool"], "no JSON"),
        (["-m", "no_such.module"], ""),
        (["-m", "small", "a"], ""),
        (["small.py", "a"], ""),
        (["./small.py"], ""),
        (["no_such.py"], ""),
    ],
)  # fmt: skip
def test_each_way_to_name_a_program(run, session, tmp_path, words, given) -> None:
    code = "import sys\nprint(sys.argv, sys.orig_argv, sys.path, __file__, __spec__ and __spec__.name)\n1 / 0\n"
    (tmp_path / "small.py").write_text(code)
    assert_same(run, session, words, input=given)


def test_random_numbers_differ_from_start_to_start(run, session, monkeypatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # numpy's library would start threads
    code = "import random, numpy; print(random.random(), numpy.random.rand())"
    first, second = (run("-c", code, modules=("numpy.random",)).stdout.split() for _ in range(2))
    assert starts(session).count("forked") == 2
    assert first[0] != second[0] and first[1] != second[1]


def test_a_program_that_takes_too_long_is_killed_with_its_children(run, session, tmp_path) -> None:
    code = """
        import os, subprocess, time
        child = subprocess.Popen(["sleep", "60"])
        open("pids", "w").write(f"{os.getpid()} {child.pid}")
        time.sleep(60)
    """
    run("-c", "")  # the server's start does not count
    with pytest.raises(subprocess.TimeoutExpired):
        run(program(tmp_path, code), timeout=2)
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    assert eventually(lambda: not any(is_running(pid) for pid in pids))
    assert run("-c", "print('the server lives')").stdout == "the server lives\n"
    assert starts(session).count("server") == 1


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def eventually(holds: Callable[[], bool], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_go_to_the_program(session, tmp_path, number) -> None:
    code = f"""
        import signal, sys, time
        signal.signal({number.value}, lambda *_: sys.exit(5))
        print("ready", flush=True)
        time.sleep(60)
    """
    command = forking.command([program(tmp_path, code)], os.environ, modules=("json",))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(20) == 5
    assert starts(session) == ["server", "forked"]


def test_a_program_that_crashes_leaves_the_server(run, session) -> None:
    crash = run("-c", "import os; os.abort()")
    assert crash.returncode == -signal.SIGABRT
    killed = run("-c", "import os, signal; os.killpg(0, signal.SIGKILL)")
    assert killed.returncode == -signal.SIGKILL
    assert run("-c", "print(1)").stdout == "1\n"
    assert starts(session).count("server") == 1 and starts(session).count("forked") == 3


def test_a_server_with_threads_refuses(run, session, tmp_path) -> None:
    module = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    (tmp_path / "threaded.py").write_text(module)
    found = {"PYTHONPATH": str(tmp_path)}
    command = forking.command(["-c", "print(1)"], os.environ | found, modules=("threaded",))
    assert command == [sys.executable, "-c", "print(1)"]
    assert starts(session) == ["server", "own"]
    told = next(session.glob("*/refused")).read_text()
    assert told == "threaded started threads\n"


def test_a_server_that_gets_a_thread_refuses(run, session, tmp_path) -> None:
    """The program then starts as if there was no server."""
    module = """
        import json, os, threading, time
        before = os.setsid  # the server calls it once it is one
        def setsid():
            before()
            if "refuses" in os.environ:
                threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        os.setsid = setsid
    """
    (tmp_path / "later.py").write_text(textwrap.dedent(module))
    env = os.environ | {"PYTHONPATH": str(tmp_path), "refuses": "yes"}
    words = ["-W", "ignore", "-c", "import sys; print(sys.argv, sys.orig_argv[1:])", "a"]
    command = forking.command(words, env, modules=("later",))
    assert command[0] == sys.executable and "fork_client.py" in command[3]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == f"['-c', 'a'] {words}\n"
    assert starts(session) == ["server", "refused"]


def test_what_is_read_at_the_start_has_another_server(run, session) -> None:
    code = "import os; print(os.environ.get('TORCH_X'), os.environ.get('OTHER'))"
    env = dict(os.environ)
    for more, told in (({}, "None None"), ({"TORCH_X": "1"}, "1 None"), ({"OTHER": "2"}, "None 2")):
        command = forking.command(["-c", code], env | more, modules=("json",))
        done = subprocess.run(command, env=env | more, capture_output=True, text=True, check=True)
        assert done.stdout == told + "\n"
    run("-W", "ignore", "-u", "-c", code)
    run("-c", code, modules=("json", "random"))
    assert starts(session).count("server") == 3 and starts(session).count("forked") == 5


@pytest.mark.parametrize(
    ("words", "own"),
    [
        (["-c", "pass"], {"TORCH_X": "1"}),
        (["-c", "pass"], {"PYTHONPATH": "/"}),
        (["-c", "pass"], {"LD_PRELOAD": ""}),
        (["-O", "-c", "pass"], {}),
        (["-W", "error", "-c", "pass"], {}),
        (["-m", "torchport.observe.command", "--devices", "cuda:1"], {}),
        (["-m", "torchport.observe.command", "zoo:masked", "--device", "cuda"], {}),
        (["-"], {}),
        ([], {}),
    ],
)
def test_what_a_fork_cannot_have_is_a_new_python(session, words, own) -> None:
    command = forking.command(words, os.environ | own, own=own, modules=("json",))
    assert command == [sys.executable, *words]
    assert starts(session) == ["own"]


def test_the_server_not_used_for_longest_ends(run, session, monkeypatch) -> None:
    monkeypatch.setattr(fork_servers, "MOST", 2)
    for module in ("json", "random", "json", "shlex", "json", "random"):
        assert run("-c", "print(1)", modules=(module,)).stdout == "1\n"
    assert len(fork_servers.servers_by_use(str(session))) == 2
    assert starts(session).count("server") == 4 and starts(session).count("forked") == 6


def test_servers_end_with_the_session(run, session) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        (session / "session").write_text(str(process.pid))
        server = int(run("-c", "import os; print(os.getppid())").stdout)
        assert is_running(server)
        process.kill()
    assert eventually(lambda: not is_running(server))
    done = run("-c", "import os; print(os.getppid())")
    assert int(done.stdout) == os.getpid()
    assert starts(session) == ["server", "forked", "refused"]


DEVICES = """
import torch
from torch.utils.data import DataLoader

print(torch.cuda.is_initialized(), torch.cuda._is_in_bad_fork(), torch.cuda.current_stream())
print(torch.get_num_threads(), torch.is_grad_enabled(), torch.cuda.device_count())
print([int(batch.sum()) for batch in DataLoader(torch.arange(4), 2, num_workers=2)])
print(torch.cuda.mem_get_info(1), torch.cuda.memory_reserved(0))
torch.manual_seed(3)
weight = torch.rand(3, device="cuda:1", requires_grad=True)
(weight * torch.rand(3, device="cuda:1")).sum().backward()
print(weight, weight.grad)
print(torch.cuda.memory_stats(1)["allocation.all.allocated"], torch.cuda.mem_get_info(1))
try:
    torch.ones(2**30, device="cuda:1")
except torch.OutOfMemoryError as error:
    print(error)
print(torch.ones(2, device="cuda:0") + weight)
"""


def test_devices_are_those_of_a_new_process(tmp_path, session) -> None:
    """Their memory, random numbers, errors and threads; also in a second fork, after the first."""
    options = {"devices": "cuda:2,memory=1GiB", "cwd": tmp_path, "timeout": 120, "check": False}
    new, *forks = [run_python(*words, "-c", DEVICES, **options) for words in (["-B"], [], [])]
    assert starts(session) == ["own", "server", "forked", "forked"]
    assert new.returncode == 1 and "Expected all tensors to be on the same device" in new.stderr
    for fork in forks:
        assert (fork.returncode, fork.stdout, fork.stderr) == (1, new.stdout, new.stderr)
    drawn = [run_python("-c", DRAWS, **options | {"check": True}).stdout.split() for _ in range(2)]
    assert all(one != other for one, other in zip(*drawn, strict=True)), "nobody seeds them"


DRAWS = """
import random, numpy, torch
print(random.random(), numpy.random.rand(), torch.rand(1).item(), torch.rand(1, device="cuda").item())
print(torch.initial_seed(), torch.cuda.initial_seed())
"""

MODULE = """
import os, subprocess, sys
import pytest
from python_process import run_python
import fork_servers
import forking

fork_servers.FIRST_IS_OWN = False
fork_servers.STARTS = (*fork_servers.STARTS, "NOTHING")

def parent(tmp_path):
    done = run_python("-c", "import os; print(os.getppid())", devices=None, cwd=tmp_path, timeout=60, check=True)
    return int(done.stdout)

def test_forked(tmp_path):
    assert parent(tmp_path) != os.getpid()

@pytest.mark.own_process
def test_own(tmp_path):
    assert parent(tmp_path) == os.getpid()
"""


def test_tests_say_that_they_need_a_process_of_their_own(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(forking.FOLDER, raising=False)
    pytester.makeconftest('pytest_plugins = ("device_modules",)\n')
    pytester.makeini(f"[pytest]\npythonpath = {Path(__file__).parent}\n")
    pytester.makepyfile(test_module=MODULE)
    words = ["-p", "no:xdist", "--strict-markers"]
    done = pytester.runpytest_subprocess(*words)
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(["starts of Python with torch: 1 forks of 1 servers, 1 of their own"])
    done = pytester.runpytest_subprocess("-p", "xdist", "-n", "2", "--dist", "load")
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(["starts of Python with torch: 1 forks of 1 servers, 1 of their own"])
    monkeypatch.setenv(forking.SWITCH, "0")
    done = pytester.runpytest_subprocess(*words)
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["starts of Python with torch: 0 forks of 0 servers, 2 of their own"])


COUNTS = """
import torch
print([(p.name, p.total_memory, str(p.uuid)) for p in map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))])
print(torch.version.cuda, torch.cuda.is_initialized(), torch.cuda.mem_get_info())
try:
    torch.ones(2**29, device="cuda")
except torch.OutOfMemoryError as error:
    print(error)
"""


def test_one_server_has_all_numbers_of_devices_and_memories(tmp_path, session) -> None:
    specs = (
        "cuda:1",
        "cuda:3",
        "cuda:2,memory=1GiB",
        "cuda:1,memory=1GiB",
        "cuda:2,memory=1GiB,profile=t4",
    )
    options = {"cwd": tmp_path, "timeout": 120, "check": False}
    for spec in specs:
        new, fork = (
            run_python(*words, "-c", COUNTS, devices=spec, **options) for words in (["-B"], [])
        )
        assert (fork.returncode, fork.stdout, fork.stderr) == (0, new.stdout, new.stderr), spec
    assert starts(session).count("forked") == len(specs)
    assert starts(session).count("server") == 2  # another profile is another CUDA


@pytest.mark.parametrize(
    ("spec", "of_server"),
    [
        ("cuda:1", "cuda"),
        ("cuda:8,profile=h100-80g,memory=1GiB", "cuda,profile=h100-80g"),
        ("cuda:1,random=cpu,data=1KiB", "cuda,data=1KiB,random=cpu"),
        ("xpu:2", "xpu"),
        ("mps,memory=8GiB", "mps"),
        ("npu:2,memory=1GiB", "npu:2,memory=1GiB"),
        ("none", "none"),
    ],
)  # fmt: skip
def test_the_devices_of_a_server(spec: str, of_server: str) -> None:
    assert fork_servers.devices_of_server(spec) == of_server


def test_a_server_whose_imports_use_devices_refuses(run, session, tmp_path) -> None:
    (tmp_path / "uses.py").write_text("import torch; torch.cuda.device_count()")
    env = {"PYTHONPATH": str(tmp_path), "TORCHPORT_VIRTUAL": "cuda:2"}
    command = forking.command(["-c", "print(1)"], os.environ | env, modules=("torch", "uses"))
    assert command == [sys.executable, "-c", "print(1)"]
    assert next(session.glob("*/refused")).read_text().endswith("an import has used the devices\n")
