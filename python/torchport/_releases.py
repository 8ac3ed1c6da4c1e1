"""The published releases of torch, as the virtual devices report them.

The facts are in ``torch_releases.json``, which C++ also reads (``src/releases/table.h`` says why).
The file is read on first use, so that ``import torchport`` costs nothing.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class CUDABuild:
    """A build of torch for CUDA.

    Attributes:
        version: The CUDA version, major and minor.
        cudnn: The cuDNN version: major, minor, patch; None if the table does not have it.
        nccl: The NCCL version: major, minor, patch; None if the table does not have it.
        capabilities: The compute capabilities that the build has kernels for, in ascending order:
            75 stands for 7.5.
    """

    version: tuple[int, int]
    cudnn: tuple[int, int, int] | None
    nccl: tuple[int, int, int] | None
    capabilities: tuple[int, ...]

    @property
    def number(self) -> int:
        """13000 for CUDA 13.0, as ``CUDART_VERSION`` has it."""
        return self.version[0] * 1000 + self.version[1] * 10

    @property
    def cudnn_number(self) -> int | None:
        """92000 for cuDNN 9.20.0, as ``CUDNN_VERSION`` of cuDNN 9 has it."""
        if self.cudnn is None:
            return None
        major, minor, patch = self.cudnn
        return major * 10000 + minor * 100 + patch

    @property
    def architectures(self) -> str:
        """``sm_75 sm_80``: what ``torch.cuda.get_arch_list()`` splits."""
        return " ".join(f"sm_{number}" for number in self.capabilities)


@functools.cache
def _table() -> dict[str, Any]:
    text = Path(__file__).with_name("torch_releases.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


def version_in(text: str) -> str | None:
    """The version and the build in the text of a torch's version.py: ``2.13.0+cpu``; or None."""
    found = re.search(r"^__version__\s*=\s*['\"]([^'\"]+)", text, re.MULTILINE)
    return found[1] if found else None


def _minor(version: str) -> tuple[str, ...]:
    return tuple(version.split("+")[0].split(".")[:2])


def _patch(version: str) -> int:
    return int(version.split(".")[2])


def _numbers(text: str | None) -> tuple[int, int, int] | None:
    """The first three numbers of ``9.20.0.48``."""
    if text is None:
        return None
    major, minor, patch = (int(number) for number in text.split(".")[:3])
    return major, minor, patch


def _build(row: dict[str, Any]) -> CUDABuild:
    major, minor = (int(number) for number in row["cuda"].split("."))
    return CUDABuild(
        (major, minor), _numbers(row["cudnn"]), _numbers(row["nccl"]), tuple(row["archs"])
    )


@dataclass(frozen=True)
class ServedTorch:
    """A version of torch that torchport has libraries for.

    Attributes:
        version: The version, without its build: "2.12.0".
        git_version: What its torch/version.py says.
        built_for: The version whose headers the libraries were compiled with: "2.12.1".
    """

    version: str
    git_version: str
    built_for: str


@functools.cache
def served_torches() -> tuple[ServedTorch, ...]:
    """The versions of torch that torchport has libraries for, oldest first."""
    found = []
    for row in reversed(_table()["releases"]):
        if runtime := row["runtime"]:
            serves = sorted(runtime["serves"].items(), key=lambda served: _patch(served[0]))
            found += [ServedTorch(version, git, runtime["built_for"]) for version, git in serves]
    return tuple(found)


def cuda_builds(torch: str) -> tuple[CUDABuild, ...]:
    """The builds of this version of torch (``2.13.0+cpu``), the default of pip first.

    Empty if the table does not have this release.
    """
    for row in _table()["releases"]:
        if _minor(row["version"]) == _minor(torch):
            return tuple(_build(build) for build in row["cuda"])
    return ()


def builds_like(torch: str) -> tuple[CUDABuild, ...]:
    """The builds of this version; those of the newest release for a torch that is newer.

    A nightly build and a torch that somebody built may be newer than the table, and what they are built
    for is closest to the newest release.
    """
    newest = _table()["releases"][0]["version"]
    found = re.match(r"(\d+)\.(\d+)", torch)
    if found and tuple(map(int, found.groups())) > tuple(map(int, _minor(newest))):
        return cuda_builds(newest)
    return cuda_builds(torch)


def cuda_build_for(torch: str, capability: tuple[int, int]) -> CUDABuild:
    """The build of this torch to install for a device of this compute capability.

    This is the default build if it has kernels for the device or for an older device of the same
    major version. Otherwise it is the first build that has them. A device that is older than all
    builds gets the default build, whose kernels do not run on it, as on a real device.

    Raises:
        LookupError: The table does not have this release.
    """
    builds = builds_like(torch)
    if not builds:
        raise LookupError(
            f"torchport does not know the builds of torch {torch}; "
            "python/torchport/torch_releases.json lists the known ones"
        )
    number = capability[0] * 10 + capability[1]
    return next((one for one in builds if one.capabilities[0] <= number), builds[0])
