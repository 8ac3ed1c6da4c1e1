"""The interface of a cluster engine: it starts workers and says what became of their blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch


@dataclass(frozen=True)
class Job:
    """``artefact`` is the file's content: other machines need not have the file. A worker has one
    device of the kind ``device``, or ``threads`` cores of the CPU (0: one)."""

    artefact: bytes
    name: str  # of the file, whose ending its loader needs
    device: str
    threads: int = 0


@dataclass(frozen=True)
class Done:
    """The end of a block: its results, or why it has none. ``lost`` means that the worker ended; the
    block may run again elsewhere. Another failure is that of the artefact on this block."""

    block: int
    results: list[torch.Tensor] | None
    failure: str = ""
    lost: bool = False


class Workers(ABC):
    """Workers that run. Not thread safe."""

    @abstractmethod
    def count(self) -> int:
        """How many run now. A lost one is started again."""

    @abstractmethod
    def idle(self) -> bool:
        """Whether a worker takes a block now."""

    @abstractmethod
    def give(self, block: int, inputs: list[torch.Tensor]) -> None:
        """Gives a block to a worker that is idle."""

    @abstractmethod
    def wait(self) -> Done:
        """Waits for the end of a block."""

    @abstractmethod
    def stop(self) -> None:
        """Ends all workers."""


class ClusterEngine(ABC):
    name: ClassVar[str]

    @abstractmethod
    def start(self, job: Job, workers: int | None, address: str | None) -> Workers:
        """Starts workers; by default one for each device of the job's kind in the cluster, or for
        each machine. Without an address it is the cluster that this machine belongs to, or this
        machine alone. Raises ClusterError.
        """


class ClusterError(Exception):
    """The cluster cannot run the job; the message says why."""
