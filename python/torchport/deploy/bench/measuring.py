"""`torchport.benchmark`: starts one worker after another, then lets them run in turns."""

from __future__ import annotations

import inspect
import os
import platform
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch

from torchport import _device_kinds, virtual
from torchport._native.devices import choose_device
from torchport._startup import VARIABLE
from torchport.deploy.bench import earlier
from torchport.deploy.bench.modes import MODES
from torchport.deploy.bench.processes import WORKER, Worker, WorkerFailed, WorkerSkipped
from torchport.deploy.bench.report import BenchmarkReport, BenchmarkRow
from torchport.deploy.bench.statistics import quantile, ranks, ratio, spread

# The reference for the other modes: the first of these modes that is measured.
_REFERENCES = ("eval", "no_grad", "inference")


@dataclass(frozen=True)
class Settings:
    """How to measure; see `benchmark`."""

    modes: tuple[str, ...]
    batches: tuple[int | None, ...]
    device: str
    devices: str | None
    rounds: int
    seconds: float
    threads: int | None
    timeout: float

    @property
    def virtual(self) -> bool:
        return self.devices is not None or virtual.enabled()

    def environment(self) -> dict[str, str]:
        return {VARIABLE: self.devices} if self.devices else {}


def importable(target: Any) -> str:
    """Returns the name by which another process finds a function: module:name, or file.py:name.

    Raises ValueError for a function without such a name, such as a lambda.
    """
    if isinstance(target, str):
        return target
    name = getattr(target, "__qualname__", "")
    module = sys.modules.get(getattr(target, "__module__", ""))
    if not name or "<" in name or module is None:
        raise ValueError(
            f"torchport: {target!r} is measured in separate processes, which must be able to "
            "import it: pass a function of a module, or its name as MODULE:NAME"
        )
    if module.__name__ != "__main__":
        return f"{module.__name__}:{name}"
    return f"{Path(inspect.getfile(target)).absolute()}:{name}"


def benchmark(
    model: str | Callable[[], torch.nn.Module],
    inputs: str | Callable[..., Any],
    *,
    modes: Sequence[str] = tuple(MODES),
    batches: Sequence[int] = (),
    device: str | None = None,
    devices: str | None = None,
    rounds: int = 7,
    seconds: float = 0.5,
    threads: int | None = None,
    timeout: float = 900,
    against: str | os.PathLike[str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> BenchmarkReport:
    """Measures the peak memory, latency and throughput of a model in each mode.

    Each mode at each batch size has its own process. When all are ready they run in turns, in
    a different order each round. The row of a mode that cannot run or fails gives the reason.
    An interruption also ends the processes.

    Args:
        model: A function that makes the model and that other processes can import, or its name
            as MODULE:NAME.
        inputs: A function that makes a tensor, a tuple of positional or a dict of named arguments;
            or its name. If it has a parameter, it gets the batch size; otherwise its tensors are
            repeated along their first axis.
        modes: The modes to measure. The default is all modes.
        batches: Batch sizes. By default ``inputs`` is used as it is.
        device: The device to measure on, as in `device`.
        devices: Virtual devices to measure memory on, such as "cuda:1": one round of one step,
            without times.
        rounds: The number of rounds; each mode runs once in each.
        seconds: The approximate time that a mode runs in a round. It runs at least one step.
        threads: The number of CPU threads. The default is torch's own number.
        timeout: The seconds to wait for an answer of a process. This includes compilation.
        against: The file with an earlier run's JSON. The rows then also have the ratios to it.
        tell: A function that receives progress messages.

    Returns:
        A report with ``rows``, ``row(mode)`` and ``as_json()``. Its text is a table. Times are in
        seconds, memory in bytes, throughput in samples per second.

    Raises:
        ValueError: A mode is unknown, a device does not exist, a function cannot be imported, a
            number is out of range, or ``against`` is not an earlier run.
        RuntimeError: One of the processes imported a program that calls this at its top level.

    Example:
        >>> report = torchport.benchmark("net:make", "net:inputs", modes=["eval"])  # doctest: +SKIP
        >>> report.row("eval").peak  # doctest: +SKIP
        1867776
    """
    if os.environ.get(WORKER):
        raise RuntimeError(
            "torchport: one of the processes of benchmark() imported the program, and the program "
            'called benchmark() again; call it under `if __name__ == "__main__":`'
        )
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown or not modes:
        raise ValueError(
            f"torchport: there is no mode {', '.join(unknown)}; the modes are {', '.join(MODES)}"
        )
    if rounds < 1 or seconds <= 0 or any(batch < 1 for batch in batches):
        raise ValueError(
            "torchport: rounds and batches must be at least 1, seconds must be more than 0"
        )
    before = earlier.read(against) if against is not None else None
    chosen = _device(device, devices)
    settings = Settings(
        tuple(modes),
        tuple(batches) or (None,),
        chosen,
        devices,
        rounds,
        seconds,
        threads,
        timeout,
    )
    target, source = importable(model), importable(inputs)
    report = BenchmarkReport(
        model=target,
        device=chosen,
        device_name=_device_name(settings),
        torch=torch.__version__,
        threads=threads or torch.get_num_threads(),
        rounds=1 if settings.virtual else rounds,
        timed=not settings.virtual,
        reference=next((mode for mode in _REFERENCES if mode in modes), ""),
    )
    for batch in settings.batches:
        _measure_batch(report, settings, {"model": target, "input": source, "batch": batch}, tell)
    if before is not None and against is not None:
        earlier.compare(report, before, Path(against).name)
    return report


def _device(device: str | None, devices: str | None) -> str:
    """Returns the device to measure on. Raises ValueError if it is no device or does not exist."""
    if devices:  # only the workers have virtual devices, so the device cannot be looked up here
        try:
            return str(torch.device(device or _device_kinds.kind_in(devices)))
        except RuntimeError:
            raise ValueError(f"torchport: {device or devices!r} is not a device") from None
    try:
        return str(choose_device(device or "").device)
    except RuntimeError as error:
        raise ValueError(str(error)) from None


def _device_name(settings: Settings) -> str:
    if settings.virtual:
        return f"virtual {settings.devices}" if settings.devices else "virtual"
    if settings.device != "cpu":
        module = torch.get_device_module(settings.device)
        named = getattr(module, "get_device_name", None)  # torch.mps does not have it
        return str(named(settings.device)) if named else settings.device
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(
            line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
        )
    except (OSError, StopIteration):
        return platform.machine()


def _measure_batch(
    report: BenchmarkReport, settings: Settings, base: dict[str, Any], tell: Callable[[str], None]
) -> None:
    base = base | {"device": settings.device, "threads": settings.threads}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="torchport-bench-"))
        rows: list[BenchmarkRow] = []
        workers: dict[str, Worker] = {}
        for name in settings.modes:
            tell(f"{name}: starting")
            row = BenchmarkRow(name, MODES[name].title, base["batch"] or 1)
            rows.append(row)
            _make_ready(row, settings, base, folder, stack, workers)
        batch = next((r.batch for r in rows if r.mode in workers), base["batch"] or 1)
        for row in rows:
            row.batch = batch
        _run_rounds(rows, workers, settings, tell)
        for row in rows:
            if row.status == "measured":
                _summarize(row, workers[row.mode])
        _compare([row for row in rows if row.status == "measured"], workers, report)
    report.rows += rows


def _make_ready(
    row: BenchmarkRow,
    settings: Settings,
    base: dict[str, Any],
    folder: str,
    stack: ExitStack,
    workers: dict[str, Worker],
) -> None:
    mode = MODES[row.mode]
    try:
        spec = base | {"mode": row.mode}
        if mode.artefact:
            spec["artefact"] = str(Path(folder, f"model.{mode.artefact}"))
            with Worker(spec | {"write": True}, settings.environment(), settings.timeout) as writer:
                spec |= writer.answer()
        worker = stack.enter_context(Worker(spec, settings.environment(), settings.timeout))
        said = worker.answer()
        row.prepared, row.batch = said["prepared"], said["batch"]
        workers[row.mode] = worker
    except (WorkerFailed, WorkerSkipped) as error:
        _give_up(row, error)


def _give_up(row: BenchmarkRow, error: WorkerFailed | WorkerSkipped) -> None:
    row.status = "failed" if isinstance(error, WorkerFailed) else "skipped"
    row.reason = str(error)


def _run_rounds(
    rows: list[BenchmarkRow],
    workers: dict[str, Worker],
    settings: Settings,
    tell: Callable[[str], None],
) -> None:
    """Runs all workers in each round, in a different order each time, so that a change of the
    machine's speed does not favour a mode. A first run determines the number of steps that fill
    the time of a round."""
    steps: dict[str, int] = {}
    shuffled = random.Random(0)
    for number in range(0 if settings.virtual else -1, 1 if settings.virtual else settings.rounds):
        tell(f"round {number + 1} of {settings.rounds}" if number >= 0 else "warming up")
        turn = [row for row in rows if row.status == "measured"]
        shuffled.shuffle(turn)
        for row in turn:
            try:
                seconds = workers[row.mode].run(steps.get(row.mode, 1))
            except WorkerFailed as error:
                _give_up(row, error)
                continue
            if number < 0:
                steps[row.mode] = max(1, min(1000, round(settings.seconds / median(seconds))))
            else:
                workers[row.mode].keep(seconds)


def _summarize(row: BenchmarkRow, worker: Worker) -> None:
    every = [seconds for one in worker.rounds for seconds in one]
    speeds = [row.batch / median(one) for one in worker.rounds]
    row.peak, row.reserved, row.steps = worker.peak, worker.reserved, len(every)
    row.p10, row.p50 = quantile(every, 0.1), quantile(every, 0.5)
    row.p90, row.p99 = quantile(every, 0.9), quantile(every, 0.99)
    row.throughput = median(speeds)
    row.throughput_low, row.throughput_high = spread(speeds)


def _compare(rows: list[BenchmarkRow], workers: dict[str, Worker], report: BenchmarkReport) -> None:
    """Compares the rows with the reference, and ranks them. The training mode gets no rank, because
    its step does more work."""
    if not report.timed:
        return
    reference = workers.get(report.reference)
    if reference is not None and reference.rounds:
        for row in rows:
            row.against = ratio(reference.rounds, workers[row.mode].rounds)
    inferring = [row for row in rows if row.mode != "train"]
    if inferring:
        found = ranks([workers[row.mode].rounds for row in inferring])
        for row, rank in zip(inferring, found, strict=True):
            row.rank = rank
