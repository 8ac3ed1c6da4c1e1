"""Reports what a program did on its devices, and writes the source lines of a trace.

C++ watches the operators (src/runtime/virtual/watch/watch.h). This module starts it, and makes the
report when the program ends.
"""

from __future__ import annotations

import atexit
import importlib
import importlib.util
import json
import os
import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir
from types import ModuleType, SimpleNamespace
from typing import Any

from torchport._files import short_path, write_text
from torchport._pages import render
from torchport._quantities import size

REPORT = "TORCHPORT_REPORT"
TRACE = "TORCHPORT_TRACE"
SEED = "TORCHPORT_SEED"


def wanted() -> bool:
    return REPORT in os.environ or TRACE in os.environ


# Which random numbers the devices draw; see `random` of torchport.virtual.enable().
RANDOM = {
    "device": "random numbers: those that the real device draws from the same seed",
    "cpu": "random numbers: those that the CPU draws from the same seed",
}

NOWHERE = "(no Python line: the backward pass, or a library's own thread)"


class _OneByOne(threading.Thread):
    """A thread whose start() returns only when the thread has ended."""

    def start(self) -> None:
        super().start()
        self.join()


def one_thread_at_a_time(torch: ModuleType) -> Any:
    """Makes the replicas of DataParallel and the devices of a backward pass run one after another,
    so that the trace is the same in each run."""
    replicas = importlib.import_module("torch.nn.parallel.parallel_apply")
    vars(replicas)["threading"] = SimpleNamespace(Thread=_OneByOne, Lock=threading.Lock)
    return torch.autograd.set_multithreading_enabled(False)


def _own_parts(optimizer: Any) -> list[Any]:
    """The parameters of an optimizer; of a distributed one, what this process has of it."""
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    return [getattr(one, "_local_tensor", one).detach() for one in parameters]


def trace_steps(torch: ModuleType) -> None:
    """Writes into the trace what each step of an optimizer made of its parameters: what the last
    one made of them goes into no operator."""
    from torch.optim.optimizer import (
        register_optimizer_step_post_hook,
        register_optimizer_step_pre_hook,
    )

    native = torch._ops.ops.torchport
    register_optimizer_step_pre_hook(lambda one, *_: native.begin_traced_step(_own_parts(one)))
    register_optimizer_step_post_hook(lambda one, *_: native.end_traced_step(_own_parts(one)))


Result = dict[str, Any]
# The function that writes a report, for each format. `torchport run` is without Python and reads the
# names from report_formats.txt; a test compares the two.
FORMATS: dict[str, Callable[[Result], str]] = {}


def _format(name: str) -> Callable[[Callable[[Result], str]], Callable[[Result], str]]:
    """Decorates the function that writes the report in the format ``name``."""

    def register(write: Callable[[Result], str]) -> Callable[[Result], str]:
        FORMATS[name] = write
        return write

    return register


def _check_format(setting: str) -> None:
    form = setting.partition(":")[0]
    if form not in FORMATS:
        raise ValueError(
            f"torchport: {REPORT}={setting}: there is no format {form!r}; use {', '.join(FORMATS)}"
        )


def folders_of_others(torch: ModuleType) -> list[str]:
    """Files whose names start with one of these are not the program's."""
    own = str(Path(__file__).parents[1])
    # torch/_inductor/runtime/cache_dir_utils.py; its default folder ends with the user's name
    compiled = os.environ.get("TORCHINDUCTOR_CACHE_DIR") or f"{gettempdir()}/torchinductor_"
    folders = [
        str(Path(str(torch.__file__)).parent),
        own,
        compiled,
        "<frozen",
        "<string>",
        "<eval_with_key>",
    ]
    triton = importlib.util.find_spec("triton")  # does not import it
    if triton is not None and triton.origin:
        folders.append(
            f"{Path(triton.origin).parent}/"
        )  # launches of its kernels are the program's
    return folders


def find_lines(torch: ModuleType) -> None:
    """Lets C++ find the line of the program that called an operator, until the program ends."""
    native = torch._ops.ops.torchport
    native.start_source_lines(folders_of_others(torch))
    atexit.register(native.stop_source_lines)  # not while the interpreter shuts down


def start(torch: ModuleType) -> None:
    """Starts to record source lines, watches new threads, and makes the report at the end. Called
    after torch is imported."""
    if setting := os.environ.get(REPORT):
        _check_format(setting)
    native = torch._ops.ops.torchport
    find_lines(torch)

    begin = threading.Thread.run

    def run(self: threading.Thread) -> None:
        native.watch_this_thread()
        begin(self)

    threading.Thread.run = run  # type: ignore[method-assign]

    if seed := os.environ.get(SEED):
        # Two runs must draw the same random numbers, also if the program sets no seed.
        if torch.cuda.is_available():
            torch.cuda.init()  # otherwise the first use would seed it again
        random.seed(int(seed))
        torch.manual_seed(int(seed))
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(int(seed))

    keep = None
    if TRACE in os.environ:
        keep = one_thread_at_a_time(torch)
        trace_steps(torch)

    def end(_keep: Any = keep) -> None:
        lines = [NOWHERE, *native.source_lines()]
        if path := os.environ.get(TRACE):
            native.flush_trace()
            Path(path + ".lines").write_text("\n".join(lines) + "\n")
        if setting := os.environ.get(REPORT):
            try:
                report(native, lines, setting)
            except OSError as error:
                path = setting.partition(":")[2] or "standard error"
                reason = f"{path}: {error.strerror}"
                sys.stderr.write(f"torchport: the report cannot be written to {reason}\n")

    atexit.register(end)


def collect(native: Any, lines: list[str]) -> Result:
    """The devices with their peaks, the operators by count, the transfers by source line, and what
    kernels asserted."""
    about = json.loads(native.describe())
    counted = json.loads(native.watched())
    devices = []
    for index in range(native.device_count()):  # the visible ones
        stats = json.loads(native.memory_stats(index))
        devices.append(
            {
                "device": f"{about['kind']}:{index}",
                "name": about["profile"]["name"],
                "memory": about["memory"],
                "peak_allocated": stats["allocated_bytes"]["all"]["peak"],
                "peak_reserved": stats["reserved_bytes"]["all"]["peak"],
                "allocations": stats["allocation"]["all"]["allocated"],
            }
        )
    transfers = [{**transfer, "line": lines[transfer["line"]]} for transfer in counted["transfers"]]
    transfers.sort(key=lambda t: (-t["count"], t["kind"], t["line"]))
    operators = dict(sorted(counted["operators"].items(), key=lambda item: (-item[1], item[0])))
    return {
        "devices": devices,
        "random": about["random"],
        "operators": operators,
        "transfers": transfers,
        "errors": list(native.failures()),
        "streams": [text.removeprefix("torchport: ") for text in native.unordered_accesses()],
    }


def report(native: Any, lines: list[str], setting: str) -> None:
    form, _, path = setting.partition(":")
    text = FORMATS[form](collect(native, lines))
    if not path:
        sys.stderr.write(text)
        return
    # Each process writes its own report. The first one gets the given name.
    target = Path(path)
    if target.exists() and os.environ.get("TORCHPORT_REPORT_PID") != str(os.getpid()):
        target = target.with_name(f"{target.stem}.{os.getpid()}{target.suffix}")
    write_text(target, text)


def _kinds(result: Result) -> dict[str, dict[str, int]]:
    kinds: dict[str, dict[str, int]] = {}
    for transfer in result["transfers"]:
        kind = kinds.setdefault(transfer["kind"], {"count": 0, "bytes": 0})
        kind["count"] += transfer["count"]
        kind["bytes"] += transfer["bytes"]
    return kinds


@_format("text")
def as_text(result: Result) -> str:
    out = ["", "torchport: what the program did on its virtual devices", ""]
    for device in result["devices"]:
        used = device["allocations"] > 0
        peak = f"peak {size(device['peak_allocated'])} allocated, " if used else "not used, "
        out.append(
            f"  {device['device']:<8} {device['name']}: {peak}"
            f"{size(device['peak_reserved'])} reserved, of {size(device['memory'])}"
        )
    out.append(f"\n  {RANDOM[result['random']]}")
    for error in result["errors"]:
        out.append(f"\n  device-side assert: {error.removeprefix('torchport: it happened ')}")
    out += [f"\n  not in order: {text}" for text in result["streams"]]
    total = sum(result["operators"].values())
    out.append(f"\n  {total} operators ran; most often:")
    for name, count in list(result["operators"].items())[:10]:
        out.append(f"  {count:>8}  {name}")
    for kind, sums in _kinds(result).items():
        amount = f", {size(sums['bytes'])}" if sums["bytes"] else ""
        out.append(f"\n  {kind}: {sums['count']} times{amount}")
        for transfer in [t for t in result["transfers"] if t["kind"] == kind][:10]:
            amount = f"  {size(transfer['bytes'])}" if transfer["bytes"] else ""
            out.append(f"  {transfer['count']:>8}  {short_path(transfer['line'])}{amount}")
    return "\n".join(out) + "\n"


@_format("json")
def as_json(result: Result) -> str:
    return json.dumps(result, indent=1) + "\n"


@_format("html")
def as_html(result: Result) -> str:
    devices = [
        [
            d["device"],
            d["name"],
            size(d["peak_allocated"]),
            size(d["peak_reserved"]),
            size(d["memory"]),
        ]
        for d in result["devices"]
    ]
    transfers = [
        [t["count"], t["kind"], size(t["bytes"]) if t["bytes"] else "", short_path(t["line"])]
        for t in result["transfers"]
    ]
    operators = [[count, name] for name, count in result["operators"].items()]
    random_numbers = RANDOM[result["random"]].capitalize() + "."
    return render(
        "run.html",
        devices=devices,
        random=random_numbers,
        transfers=transfers,
        operators=operators,
        errors=[[error.removeprefix("torchport: it happened ")] for error in result["errors"]],
        streams=[[text] for text in result["streams"]],
    )
