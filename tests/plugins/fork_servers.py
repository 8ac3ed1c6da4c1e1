"""Which fork server a start of Python is for, and its start. For `forking` and for the hook of new Pythons
(fork_hook/sitecustomize.py), so that it imports nothing that takes long.

A session has a folder, in which each server has one, by the name of what its starts have in common.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence

SWITCH = "TORCHPORT_TESTS_FORK"
FOLDER = "TORCHPORT_TESTS_SERVERS"  # where a session's servers are
MOST = 24  # servers; each holds about 0.3 GB of its own
# Many starts have no second of their kind, so that a server comes with the second.
FIRST_IS_OWN = True

# What the interpreter, torch, its libraries and torchport read once, at their start.
STARTS = (
    "ATEN_", "BLIS_", "C10_", "CUBLAS", "CUDA", "CUDNN", "GLIBC_", "GOMP_", "HIP_", "KINETO_", "KMP_",
    "LANG", "LC_", "LD_", "MALLOC_", "MKL", "MPS_", "NCCL_", "NPY_", "NUMEXPR_", "NVIDIA_", "OMP_",
    "ONEAPI_", "ONEDNN_", "OPENBLAS_", "ASCEND_", "PYTHON", "PYTORCH", "ROCR_", "SYCL_", "TMPDIR", "TORCH",
    "TRITON_", "ZE_",
)  # fmt: skip
# What torchport reads when a run begins, which `fork_server` lets it do in the fork, and what is read later.
IN_FORK = (
    "OMP_NUM_THREADS", "TORCHPORT_ACCOUNTS", "TORCHPORT_BINARY", "TORCHPORT_CACHE_DIR", "TORCHPORT_CHANGES", "TORCHPORT_PLAN", "TORCHPORT_PLAN_BATCHES",
    "TORCHPORT_PLAN_SECONDS", "TORCHPORT_PLAN_SNAPSHOT", "TORCHPORT_PLAN_STEPS", "TORCHPORT_PROGRAM",
    "TORCHPORT_REPORT", "TORCHPORT_REPORT_PID", "TORCHPORT_RUN", "TORCHPORT_STATE_DIR", SWITCH, FOLDER,
)  # fmt: skip
# Of these kinds of devices, torchport reads at the first use how many there are and how much memory they have.
COUNTED_LATE = ("cuda", "mps", "xpu")
IN_FORK_TOO = ("TORCHELASTIC_", "TORCH_NCCL_")  # how their names begin


def is_read_at_start(variable: str) -> bool:
    return variable.startswith(STARTS) and not is_read_in_fork(variable)


def is_read_in_fork(variable: str) -> bool:
    return variable in IN_FORK or variable.startswith(IN_FORK_TOO)


def of_server(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of the server for such starts. With one thread torch starts none. Whether there is a
    report, torchport's library asks once."""
    kept = {name: value for name, value in environment.items() if not is_read_in_fork(name)}
    kept["OMP_NUM_THREADS"] = "1"
    if "TORCHPORT_VIRTUAL" in kept:
        kept["TORCHPORT_VIRTUAL"] = devices_of_server(kept["TORCHPORT_VIRTUAL"])
    return kept | ({"TORCHPORT_REPORT": "json:"} if "TORCHPORT_REPORT" in environment else {})


def devices_of_server(spec: str) -> str:
    """What torchport reads of TORCHPORT_VIRTUAL when its library is loaded, as the devices of a server."""
    devices, *options = spec.split(",")
    kind = devices.partition(":")[0]
    if kind not in COUNTED_LATE:
        return spec
    return ",".join([kind, *sorted(one for one in options if not one.startswith("memory="))])


def surroundings() -> str:
    """In which of the system's namespaces this process is, and which signals it ignores: all of a session does
    that starts with `nohup`, or behind `&` in a script."""
    import signal

    spaces = [os.readlink(f"/proc/self/ns/{name}") for name in ("mnt", "net", "pid", "user")]
    asked = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
    ignored = [one.name for one in asked if signal.getsignal(one) is signal.SIG_IGN]
    return " ".join([*spaces, *ignored])


def can_run(program: Sequence[str]) -> bool:
    """Whether a fork can be this program; one that sets up devices does so before it imports torch."""
    if any(word.startswith("--device") for word in program):
        return False
    if program and program[0] in ("-m", "-c"):
        return len(program) > 1
    return bool(program) and program[0].endswith(".py") and not program[0].startswith("-")


def number_of_options(words: Sequence[str]) -> int:
    """How many of the words after `python` are options that a fork can have."""
    count = 0
    while words[count : count + 1] == ["-u"] or words[count : count + 2] == ["-W", "ignore"]:
        count += 1 if words[count] == "-u" else 2
    return count


def most() -> int:
    """How many servers there may be: they hold less than a third of the memory."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(2, min(MOST, memory // (1 << 30)))


def running(servers: str, environment: Mapping[str, str], modules: Sequence[str]) -> str | None:
    """The folder of the server for such starts; None if this start has to be a Python of its own."""
    if not environment.get("OMP_NUM_THREADS", "1").isdecimal():
        return None
    if "TORCHPORT_TRACE" in environment:  # it is of the process that loads the library
        return None
    its_own = of_server(environment)
    read = sorted((k, v) for k, v in its_own.items() if k.startswith(STARTS))
    key = repr((sys.executable, list(modules), read)).encode()
    folder = f"{servers}/{zlib.crc32(key):08x}{zlib.adler32(key):08x}"
    if not os.path.exists(f"{folder}/socket"):
        if made_new(folder) and FIRST_IS_OWN:
            note(servers, "first")
            return None
        with locked(f"{folder}/lock"):
            if not any(os.path.exists(f"{folder}/{name}") for name in ("socket", "refused")):
                start(servers, folder, its_own, modules)
    if not os.path.exists(f"{folder}/socket"):
        return None
    os.utime(folder)
    return folder


def made_new(folder: str) -> bool:
    try:
        os.mkdir(folder)
    except FileExistsError:
        return False
    return True


class locked:
    """Holds the lock of a file, against other processes of the session."""

    def __init__(self, path: str):
        self.path = path

    def __enter__(self) -> None:
        import fcntl

        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        os.close(self.file)


def start(
    servers: str, folder: str, environment: Mapping[str, str], modules: Sequence[str]
) -> None:
    """Starts a server, and waits until it serves."""
    import subprocess

    with locked(f"{servers}/lock"):
        for other in servers_by_use(servers)[: 1 - most()]:
            end(other)
    with open(f"{servers}/session") as file:
        session = file.read()
    program = os.path.join(os.path.dirname(os.path.realpath(__file__)), "fork_server.py")
    done = subprocess.run(
        [sys.executable, program, folder, session, *modules],
        cwd=folder,
        env={**environment, "TORCHPORT_TESTS_NO_HOOK": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    note(servers, "server")
    if done.returncode != 0:
        with open(f"{folder}/refused", "w") as file:
            file.write(done.stdout + done.stderr)


def servers_by_use(servers: str) -> list[str]:
    """The running servers, the one not used for longest first."""
    folders = [entry.path for entry in os.scandir(servers) if entry.is_dir()]
    serving = [folder for folder in folders if os.path.exists(f"{folder}/socket")]
    return sorted(serving, key=lambda folder: os.stat(folder).st_mtime)


def end(folder: str) -> None:
    """Ends a server, once its programs have ended."""
    import contextlib
    import socket

    with socket.socket(socket.AF_UNIX) as connection, contextlib.suppress(OSError):
        connection.connect(f"{folder}/socket")
        connection.sendall(bytes(4))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{folder}/socket")


def note(servers: str, word: str) -> None:
    """Counts a start, for the last line of the session."""
    with open(f"{servers}/starts", "a") as file:
        file.write(word + "\n")


def notes(servers: str) -> Iterator[str]:
    try:
        with open(f"{servers}/starts") as file:
            yield from file.read().split()
    except FileNotFoundError:
        return
