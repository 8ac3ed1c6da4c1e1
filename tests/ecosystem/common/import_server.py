#!/usr/bin/env python3
"""Imports a module of a package in a fork of a process that has imported torch, and tells what came of it.

A request is a line of JSON on stdin, and so is its answer on stdout (see `Request`). Nothing that a
module does reaches the next request: it has a process, a scratch folder and limits of its own. It may
not start programs, open connections or write anywhere else.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import resource
import select
import signal
import sys
import time
import traceback
import types
from pathlib import Path
from typing import Any, TypedDict

import import_leniency
import import_stubs
import script_graphs

MEMORY_BYTES = 4 << 30
FILE_BYTES = 64 << 20
ITEM_S = 5  # for one function or class

# What packages import most: then it is there before the fork.
PRELOADED = [
    "numpy",
    "torch.distributed",
    "torch.utils.data",
    "torch.utils.cpp_extension",
    "torch.utils.checkpoint",
    "torch.utils.tensorboard",
    "torch.optim.lr_scheduler",
    "torch.cuda.amp",
    "torch.fx",
    "torch.onnx",
    "torch._dynamo",
    "torch.nn.parallel",
    "torch.distributed.fsdp",
    "torch.distributed.tensor",
    "torch.ao.quantization",
    "torch.multiprocessing",
    "torch.testing._internal.common_utils",
    "unittest.mock",
    "pytest",
    "logging.config",
    "importlib.metadata",
    "asyncio",
    "multiprocessing.pool",
]


class Request(TypedDict):
    root: str  # the tree; only its modules are looked at
    paths: list[str]  # the head of sys.path
    module: str
    file: str
    alone: bool  # packages around the module are empty instead of imported
    patches: list[tuple[str, str]]  # names that installed modules lack: (module, name)
    stubs: list[str] | None  # what may be stubbed, None: all that is missing
    changed: list[str]  # files of the tree that a fix changes
    done: list[str]  # files that are not looked at
    scripts: dict[str, list[str]] | None  # file: names to script; None: what a fix may touch
    pycache: str
    scratch: str
    limit_s: float


# --- what runs in the child -----------------------------------------------------------------------


class NotAllowedError(PermissionError):
    """The module wanted to do something that an import has no need of."""


REFUSED = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.kill", "socket.connect",
           "socket.bind", "socket.getaddrinfo", "urllib.", "ftplib.", "pty.")  # fmt: skip
CHANGES = {"os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.chmod",
           "os.chown", "os.truncate", "os.utime", "shutil.rmtree", "shutil.move"}  # fmt: skip


def guard(*writable: str) -> None:
    """Refuses what could change the machine. That stops accidents, not attacks."""
    heads = tuple(os.path.realpath(folder) + os.sep for folder in writable)

    def check(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = args
            writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            if not writes or not isinstance(path, (str, bytes, os.PathLike)):
                return
        elif event in CHANGES:
            path = args[1] if event in ("os.rename", "shutil.move") else args[0]
        elif event.startswith(REFUSED):
            raise NotAllowedError(f"an import may not call {event}")
        else:
            return
        name = os.fsdecode(os.fspath(path)) if not isinstance(path, int) else ""
        if name != os.devnull and not (os.path.realpath(name) + os.sep).startswith(heads):
            raise NotAllowedError(f"an import may not write {name}")

    sys.addaudithook(check)


def confine(request: Request) -> None:
    os.setsid()
    os.chdir(request["scratch"])
    sys.path[:0] = request["paths"]
    sys.pycache_prefix = request["pycache"]
    sys.argv = [request["file"]]
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    guard(request["scratch"], request["pycache"])


def stub_parents(request: Request) -> None:
    """Makes the packages around a module empty, so that nothing of theirs can fail."""
    folder = Path(request["root"], request["file"]).parent
    names = request["module"].split(".")[:-1]
    if Path(request["file"]).name == "__init__.py":
        folder = folder.parent
    for depth in range(len(names), 0, -1):
        name = ".".join(names[:depth])
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
        folder = folder.parent


def apply_patches(request: Request) -> None:
    for module, name in request["patches"]:
        stand_in = import_leniency.RENAMED.get((module, name))
        stand_in = stand_in or import_stubs.Stub(f"{module}.{name}")
        setattr(importlib.import_module(module), name, stand_in)


def tree_modules(root: str) -> dict[str, types.ModuleType]:
    """The modules of the tree that are imported to their end, by file."""
    found = {}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        spec = getattr(module, "__spec__", None)
        inside = isinstance(file, str) and file.startswith(root + os.sep)
        if inside and not getattr(spec, "_initializing", False):
            found[os.path.relpath(file, root)] = module
    return found


def origin_of(value: Any) -> str:
    """The name of the module that something was defined in."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    origin = getattr(value, "__module__", None)
    return origin if isinstance(origin, str) else ""


def is_touched(module: types.ModuleType, changed: set[str]) -> bool:
    """Whether a module holds anything of changed modules, or is one."""
    return module.__name__ in changed or any(
        origin_of(value) in changed for value in list(vars(module).values())
    )


def imported_names(module: types.ModuleType) -> set[str]:
    """The names that a module has by an import of its own; those that a package imports are its own."""
    path = Path(module.__file__ or "")
    if path.name == "__init__.py":
        return set()
    found = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
    return found


def names_of(module: types.ModuleType) -> dict[str, str]:
    """The public names of a module: what is defined there is "own", anything else "imported"."""
    exported, imported = getattr(module, "__all__", ()), imported_names(module)
    imported |= {n for n, value in vars(module).items() if isinstance(value, types.ModuleType)}
    return {
        name: "own" if name in exported or name not in imported else "imported"
        for name in vars(module)
        if not name.startswith("_") and f"{module.__name__}.{name}" not in sys.modules
    }


class ItemTimeoutError(BaseException):
    pass


def on_alarm(*_: object) -> None:
    raise ItemTimeoutError


def scripts_of(module: types.ModuleType, wanted: list[str] | None) -> dict[str, dict[str, str]]:
    """What torch.jit.script makes of a module's functions and classes: a text or an error each."""
    answers = {}
    signal.signal(signal.SIGALRM, on_alarm)
    for name, value in script_graphs.candidates(module).items():
        if wanted is not None and name not in wanted:
            continue
        signal.alarm(ITEM_S if wanted is None else 6 * ITEM_S)
        try:
            answers[name] = {"text": script_graphs.script(value)}
        except (Exception, ItemTimeoutError, SystemExit) as error:
            answers[name] = {"error": f"{type(error).__name__}: {error}"[:2000]}
        finally:
            signal.alarm(0)
    return answers


def place_of(error: BaseException, root: str) -> str:
    """The innermost line of the tree in an error's traceback."""
    if isinstance(error, SyntaxError) and (error.filename or "").startswith(root + os.sep):
        return f"{os.path.relpath(error.filename or '', root)}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename.startswith(root + os.sep)]
    if not inside:
        return ""
    return f"{os.path.relpath(inside[-1].filename, root)}:{inside[-1].lineno}"


def missing_name(error: BaseException) -> tuple[str, str] | None:
    """The module and the name that an import or an attribute of an installed module lacks."""
    if isinstance(error, ImportError):
        match = re.match(r"cannot import name '(\w+)' from '([\w.]+)'", str(error))
        return (match[2], match[1]) if match else None
    if match := re.match(r"`np\.(\w+)` was removed", str(error)):
        return "numpy", match[1]
    if match := re.match(r"module '([\w.]+)' has no attribute '(\w+)'", str(error)):
        return match[1], match[2]
    return None


def import_one(request: Request) -> dict[str, Any]:
    root = request["root"]
    stubs = request["stubs"]
    if stubs is not None:
        stubs = stubs + import_stubs.made_by_fix(Path(request["root"]), stubs)
    finder = import_stubs.StubFinder(stubs)
    import_stubs.install(finder)
    try:
        apply_patches(request)
        if request["alone"]:
            stub_parents(request)
        module = importlib.import_module(request["module"])
        if getattr(module, "__file__", None) != os.path.join(root, request["file"]):
            raise ImportError("another module has this name")
    except BaseException as error:
        failure: dict[str, Any] = {
            "error": f"{type(error).__name__}: {error}"[:500],
            "place": place_of(error, root),
        }
        if missing := missing_name(error):
            file = getattr(sys.modules.get(missing[0]), "__file__", None) or ""
            if not file.startswith(root + os.sep):
                failure["missing"] = missing
        absent = os.path.normpath(str(getattr(error, "filename", None) or ""))
        if isinstance(error, FileNotFoundError) and absent.startswith(root + os.sep):
            failure["absent"] = os.path.relpath(absent, root)
        return failure
    modules = tree_modules(root)
    wanted = request["scripts"]
    if wanted is None:
        changed = {
            module.__name__ for file, module in modules.items() if file in request["changed"]
        }
        touched = {file for file, module in modules.items() if is_touched(module, changed)}
        wanted = dict.fromkeys(touched - set(request["done"]))
    answer = {"stubs": finder.made, "loaded": sorted(modules)}
    files = [file for file in wanted if file in modules]
    answer["names"] = {file: names_of(modules[file]) for file in files}
    answer["scripts"] = {file: scripts_of(modules[file], wanted[file]) for file in files}
    return answer


# --- the server -----------------------------------------------------------------------------------


def child(request: Request, out: int) -> None:
    """Never returns."""
    status = 1
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        confine(request)
        data = json.dumps(import_one(request)).encode()
        while data:
            data = data[os.write(out, data) :]
        status = 0
    finally:
        os._exit(status)


def serve_one(request: Request) -> dict[str, Any]:
    started = time.monotonic()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        child(request, writer)
    os.close(writer)
    data, timed_out = b"", False
    while True:
        left = started + request["limit_s"] - time.monotonic()
        ready, _, _ = select.select([reader], [], [], max(left, 0))
        if not ready:
            timed_out = True
            break
        if not (chunk := os.read(reader, 1 << 16)):
            break
        data += chunk
    os.close(reader)
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if timed_out:
        return {"error": f"TimeoutError: no end after {request['limit_s']:g} s", "place": ""}
    try:
        return json.loads(data)
    except ValueError:
        code = os.waitstatus_to_exitcode(status)
        return {"error": f"ChildProcessError: the process ended with {code}", "place": ""}


def main() -> None:
    for name in PRELOADED:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    import_leniency.allow_mutable_defaults()
    import_leniency.allow_dispatch_on_stubs()
    for line in sys.stdin:
        print(json.dumps(serve_one(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
