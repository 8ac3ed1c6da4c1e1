"""A process that has imported torch, and of which programs are forks. `forking` starts it.

    python fork_server.py FOLDER SESSION MODULE...

A start of Python with torch takes seconds, and a fork of this process takes milliseconds. It imports the
modules, runs nothing of theirs, and waits at FOLDER/socket until the process SESSION has ended. A request
(`fork_client`) has a program, its folder, its environment and its standard streams. The fork gives itself
what Python has at the start of that program, and runs it to the end of the interpreter.

A fork has only the thread that forks. So the server refuses a request if it has other threads: locks that
these hold would never be released.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.machinery
import io
import marshal
import multiprocessing.process
import os
import runpy
import selectors
import signal
import socket
import struct
import sys
import threading
import types
import warnings
from pathlib import Path
from typing import Any

# What the first optimizer, and the first torch.compile, import: a second and a half each.
AFTER_TORCH = ("torch._dynamo", "torch._inductor.compile_fx")
FIRST_FILTERS = len(warnings.filters)
NUMBER = struct.Struct("<i")
Request = dict[str, Any]


def import_all(modules: list[str]) -> None:
    if os.environ.get("TORCHPORT_VIRTUAL"):  # a report, a plan: each fork begins its own
        loading = importlib.import_module("torchport.virtual._loading")
        begin, loading.begin_what_is_asked = loading.begin_what_is_asked, lambda torch: None
    for name in [*modules, *(AFTER_TORCH if "torch" in modules else ())]:
        importlib.import_module(name)
    if os.environ.get("TORCHPORT_VIRTUAL"):
        loading.begin_what_is_asked = begin
        # `fork_servers` leaves out the number where it is read at the first use.
        devices = os.environ["TORCHPORT_VIRTUAL"].partition(",")[0]
        torch = None if ":" in devices or devices == "none" else sys.modules.get("torch")
        if torch and torch.ops.torchport.devices_are_made():
            # The forks have other numbers of devices and other memories.
            sys.exit("an import has used the devices")


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


class Server:
    """Accepts requests, forks, and tells each client its program's number and how it ended."""

    def __init__(self, folder: Path, session: int):
        self.address = folder / "socket"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{self.address}.new")
        self.listener.listen(64)
        os.rename(f"{self.address}.new", self.address)  # who finds it can connect
        self.session = os.pidfd_open(session)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)
        self.selector.register(self.session, selectors.EVENT_READ, self.session_ended)
        self.programs: dict[int, tuple[int, socket.socket]] = {}  # its pidfd, its client
        self.accepts = True

    def serve(self) -> Request:
        """Returns in each fork, with what it has to run."""
        while self.accepts or self.programs:
            for key, _ in self.selector.select():
                if (request := key.data()) is not None:
                    return request
        os._exit(0)

    def accept(self) -> Request | None:
        client, _ = self.listener.accept()
        client.settimeout(30)
        try:
            request = receive(client)
        except (OSError, EOFError):
            client.close()
            return None
        if not request:
            self.end()
            client.close()
            return None
        process = os.fork() if threads() == 1 else None
        if process == 0:
            self.forget()
            client.close()
            return request
        for descriptor in request["streams"]:
            os.close(descriptor)
        if process is None:
            client.close()  # it starts a Python of its own
            return None
        ending = os.pidfd_open(process)
        self.programs[process] = ending, client
        self.selector.register(ending, selectors.EVENT_READ, lambda: self.reap(process))
        self.selector.register(client, selectors.EVENT_READ, lambda: self.lose(process))
        self.tell(client, process)
        return None

    def tell(self, client: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError):  # it has ended, and the program will
            client.sendall(NUMBER.pack(number))

    def reap(self, process: int) -> None:
        """The program has ended."""
        ending, client = self.programs.pop(process)
        _, status = os.waitpid(process, 0)
        self.tell(client, os.waitstatus_to_exitcode(status))
        self.selector.unregister(ending)
        if client in self.selector.get_map():
            self.selector.unregister(client)
        os.close(ending)
        client.close()

    def lose(self, process: int) -> None:
        """The client has ended before its program: a timeout, Ctrl-C."""
        if process in self.programs:  # not if it was reaped by an event of the same round
            self.selector.unregister(self.programs[process][1])
            kill_group(process)

    def session_ended(self) -> None:
        for process in self.programs:
            kill_group(process)
        os._exit(0)

    def end(self) -> None:
        """Takes no more requests, and ends with the last program."""
        if self.accepts:
            self.accepts = False
            self.selector.unregister(self.listener)
            self.listener.close()

    def forget(self) -> None:
        """In a fork: closes what is the server's."""
        self.selector.close()
        self.listener.close()
        os.close(self.session)
        for ending, client in self.programs.values():
            os.close(ending)
            client.close()


def kill_group(process: int) -> None:
    for kill in (os.killpg, os.kill):  # it has no group of its own in its first moments
        with contextlib.suppress(ProcessLookupError):
            kill(process, signal.SIGKILL)


def receive(client: socket.socket) -> Request | None:
    """A request with its three streams; None if the client wants the server to end."""
    data, descriptors, _, _ = socket.recv_fds(client, NUMBER.size, 3)
    if len(data) < NUMBER.size:
        raise EOFError
    (size,) = NUMBER.unpack(data)
    if size == 0:
        return None
    body = bytearray()
    while len(body) < size:
        part = client.recv(min(1 << 16, size - len(body)))
        if not part:
            raise EOFError
        body += part
    return {**marshal.loads(body), "streams": descriptors}


def unbuffered(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    raw = io.FileIO(stream.fileno(), "w", closefd=False)
    made = io.TextIOWrapper(raw, stream.encoding, stream.errors, "\n", write_through=True)  # type: ignore[arg-type]
    made.mode = "w"  # type: ignore[misc]
    return made


def prepare(request: Request) -> None:
    """Gives a fork what a process gets from the one that starts it, and what Python makes of it."""
    os.setsid()
    for number, descriptor in enumerate(request["streams"]):
        os.dup2(descriptor, number)
    for descriptor in request["streams"]:
        os.close(descriptor)
    if "-u" in request["options"]:
        sys.stdout, sys.stderr = unbuffered(sys.stdout), unbuffered(sys.stderr)
    if "ignore" in request["options"]:
        sys.warnoptions[:] = ["ignore"]
        # Behind the filters of what was imported, before those that Python begins with.
        place = len(warnings.filters) - FIRST_FILTERS
        warnings.filters.insert(place, ("ignore", None, Warning, None, 0))  # type: ignore[attr-defined]
        warnings._filters_mutated()  # type: ignore[attr-defined]
    os.environb.clear()
    os.environb.update(request["environment"])
    os.chdir(request["folder"])
    os.umask(request["umask"])
    sys.orig_argv[1:] = request["options"] + request["words"]
    multiprocessing.process.ORIGINAL_DIR = os.getcwd()  # spawned processes find the program by it
    threading.main_thread()._set_native_id()  # os.fork() forgets it in some releases of Python
    # Random numbers that nobody seeds differ from start to start; `random` sees to it by itself.
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if torch := sys.modules.get("torch"):
        torch.default_generator.seed()
        threads = int(os.environ.get("OMP_NUM_THREADS") or len(os.sched_getaffinity(0)))
        if threads != torch.get_num_threads():
            torch.set_num_threads(threads)
    if os.environ.get("TORCHPORT_REPORT_PID") == str(request["process"]):
        os.environ["TORCHPORT_REPORT_PID"] = str(os.getpid())
    if "torchport.virtual._loading" in sys.modules:
        sys.modules["torchport.virtual._loading"].begin_what_is_asked(torch)


def main_module(**attributes: Any) -> dict[str, Any]:
    """The names of a new `__main__`, as Python makes it."""
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    main.__builtins__ = sys.modules["builtins"]
    main.__annotations__ = {}
    vars(main).update(attributes)
    return vars(main)


def execute(words: list[str]) -> None:
    """Runs `-m MODULE`, `-c CODE` or a file, with its arguments."""
    how, rest = words[0], words[1:]
    first = None
    if how == "-m":
        sys.argv[:] = ["-m", *rest[1:]]
        first = os.getcwd()
    elif how == "-c":
        sys.argv[:] = ["-c", *rest[1:]]
        first = ""
    else:
        sys.argv[:] = words
        first = os.path.dirname(os.path.realpath(how))
    if not sys.flags.safe_path:
        sys.path.insert(0, first)
    if how == "-m":
        main_module()
        runpy._run_module_as_main(rest[0])
    elif how == "-c":
        names = main_module(__loader__=importlib.machinery.BuiltinImporter)
        exec(compile(rest[0], "<string>", "exec", dont_inherit=True), names)
    else:
        path = os.path.join(os.getcwd(), how)
        loader = importlib.machinery.SourceFileLoader("__main__", path)
        names = main_module(__file__=path, __cached__=None, __loader__=loader)
        try:
            source = Path(path).read_bytes()
        except OSError as error:
            reason = f"[Errno {error.errno}] {error.strerror}"
            sys.stderr.write(f"{sys.executable}: can't open file {path!r}: {reason}\n")
            sys.exit(2)
        exec(compile(source, path, "exec", dont_inherit=True), names)


def run(request: Request) -> None:
    """Runs the program. What it raises is printed as the interpreter does, without this file's frames;
    to return, or to raise SystemExit, lets the interpreter end as at the end of any program."""
    try:
        prepare(request)
        execute(request["words"])
    except SystemExit:
        raise
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        error.__traceback__ = trace
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
        sys.excepthook(type(error), error, trace)
        if isinstance(error, KeyboardInterrupt):  # the interpreter then ends itself by SIGINT
            sys.excepthook = lambda *_: None
            raise
        sys.exit(1)


def start(folder: Path, session: int, modules: list[str]) -> Request:
    import_all(modules)
    if threads() != 1:
        sys.exit(f"{' and '.join(modules)} started threads")
    server = Server(folder, session)
    # Collections in the forks leave alone what is here, and so do not copy its pages. The collections at
    # the end of an interpreter with torch take half a second otherwise.
    gc.collect()
    gc.freeze()
    if os.fork():
        os._exit(0)  # who started the server waits for this: from now on it serves
    os.setsid()  # Ctrl-C is for the session, whose end is the server's
    with open("/dev/null", "rb") as null, open(folder / "log", "ab") as log:
        for number, file in enumerate([null, log, log]):
            os.dup2(file.fileno(), number)
    return server.serve()


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the folder of this file is no program's
    run(start(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
