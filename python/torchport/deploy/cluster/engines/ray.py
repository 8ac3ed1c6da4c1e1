"""Workers as actors of Ray: one artefact a device."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from torchport.deploy.cluster.engines._engine import ClusterEngine, ClusterError, Done, Job, Workers

# So many blocks lie with a worker: the next one travels while it computes.
_AHEAD = 2


class _Runner:
    """The worker's process: it opens the artefact once."""

    def __init__(self, artefact: bytes, name: str, device: str, threads: int) -> None:
        from torchport._native.programs import Session

        self._device = torch.device(device, 0) if device != "cpu" else torch.device("cpu")
        if threads and device == "cpu":
            torch.set_num_threads(threads)
        with tempfile.TemporaryDirectory(prefix="torchport-") as folder:
            path = Path(folder, name)
            path.write_bytes(artefact)
            self._session = Session(path, self._device, threads)

    def is_ready(self) -> bool:
        return True

    def run(self, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        outputs = self._session.run([one.to(self._device) for one in inputs])
        return [one.cpu().clone() for one in outputs]


class _RayWorkers(Workers):
    def __init__(self, ray: Any, job: Job, count: int) -> None:
        self._ray = ray
        self._job = job
        self._artefact = ray.put(job.artefact)
        options: dict[str, Any] = {"num_cpus": max(job.threads, 1), "max_restarts": 0}
        if job.device != "cpu":
            options |= {"num_gpus": 1} if job.device == "cuda" else {"resources": {job.device: 1}}
        self._kind = ray.remote(_Runner).options(**options)
        self._starting: dict[Any, Any] = {}  # what tells that it is ready -> actor
        self._ready: list[Any] = []
        self._given: dict[Any, tuple[Any, int]] = {}  # what will hold the results -> actor, block
        for _ in range(count):
            self._start()

    def _start(self) -> None:
        job = self._job
        actor = self._kind.remote(self._artefact, job.name, job.device, job.threads)
        self._starting[actor.is_ready.remote()] = actor

    def _take_started(self, timeout: float | None) -> None:
        """Moves the workers that have started to the others. Some may never: the cluster may have
        no room for them."""
        ray = self._ray
        started, _ = ray.wait(list(self._starting), num_returns=1, timeout=timeout)
        while started:
            for ready in started:
                actor = self._starting.pop(ready)
                try:
                    ray.get(ready)
                except ray.exceptions.RayActorError as error:
                    raise ClusterError(f"a worker cannot start: {_reason(error)}") from error
                self._ready.append(actor)
            started, _ = ray.wait(list(self._starting), timeout=0) if self._starting else ([], [])

    def count(self) -> int:
        return len(self._ready)

    def _least(self) -> tuple[int, int]:
        """The load of a worker with the least load, and its place."""
        loads = [sum(given is actor for given, _ in self._given.values()) for actor in self._ready]
        return min((load, at) for at, load in enumerate(loads))

    def idle(self) -> bool:
        if self._starting:
            self._take_started(None if not self._ready else 0)
        return bool(self._ready) and self._least()[0] < _AHEAD

    def give(self, block: int, inputs: list[torch.Tensor]) -> None:
        actor = self._ready[self._least()[1]]
        self._given[actor.run.remote(inputs)] = (actor, block)

    def wait(self) -> Done:
        ray = self._ray
        (ready,), _ = ray.wait(list(self._given), num_returns=1)
        actor, block = self._given.pop(ready)
        try:
            return Done(block, ray.get(ready))
        except (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError) as error:
            # Its other blocks end in the same way; the first of them starts a new worker.
            if actor in self._ready:
                self._ready.remove(actor)
                self._start()
            return Done(block, None, _reason(error), lost=True)
        except ray.exceptions.RayTaskError as error:
            return Done(block, None, _reason(error))

    def stop(self) -> None:
        for actor in (*self._ready, *self._starting.values()):
            self._ray.kill(actor)


def _reason(error: Exception) -> str:
    """The last line of what an exception says: Ray's have the worker's whole traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


class RayEngine(ClusterEngine):
    name = "ray"

    def start(self, job: Job, workers: int | None, address: str | None) -> Workers:
        if find_spec("ray") is None:
            raise ClusterError(
                "the engine ray needs a package that is not installed: pip install ray"
            )
        import ray

        if not ray.is_initialized():
            try:
                ray.init(address=address, log_to_driver=False, logging_level="ERROR")
            except ConnectionError as error:
                raise ClusterError(f"there is no Ray cluster at {address}: {error}") from error
        return _RayWorkers(ray, job, workers or _default_count(ray, job.device))


def _default_count(ray: Any, device: str) -> int:
    resources = ray.cluster_resources()
    if device == "cpu":
        return max(1, sum(1 for node in ray.nodes() if node["Alive"]))
    count = int(resources.get("GPU" if device == "cuda" else device, 0))
    if count == 0:
        raise ClusterError(
            f"the cluster has no {device} device: {resources}. Export the model for the CPU, or add "
            "machines that have one"
        )
    return count


ENGINE = RayEngine()
