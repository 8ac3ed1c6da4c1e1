"""The decision of ``torchport build-plan``, for build tools."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from torchport.__main__ import places


class BuildRefused(RuntimeError):
    """Nothing can be built correctly here; the message says why and what to do."""


def program() -> Path:
    """Returns the torchport program that belongs to this package; raises BuildRefused without it."""
    bins = list(places())
    for folder in bins:
        if (folder / "torchport").is_file():
            return folder / "torchport"
    if found := shutil.which("torchport"):
        return Path(found)
    raise BuildRefused(
        f"torchport: the torchport program was not found in {' or '.join(map(str, bins))}; install "
        "torchport again"
    )


def _run(words: Iterable[object]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(program()), *map(str, words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def cmake_dir() -> Path:
    """Returns the folder of Torchport.cmake, for CMAKE_MODULE_PATH.

    Returns:
        The folder.

    Example:
        >>> (build.cmake_dir() / "Torchport.cmake").is_file()
        True
    """
    return Path(__file__).parent / "cmake"


@dataclass(frozen=True)
class Plan:
    """A decision on what is built, with the reason. Immutable, so threads may share it.

    Attributes:
        text: The plan in JSON, as `torchport build-plan --json` wrote it.
        outcome: "cuda", "rocm", "xpu", "cpu" or "refuse".
        code: The reason in one word, such as "torch-for-cpu".
        reason: The reason in one sentence.
        remedy: What to do for a different outcome; empty if code for GPUs is built.
        notes: Further remarks for the build's log.
        archs: The architectures, as in TORCH_CUDA_ARCH_LIST: "8.0;9.0+PTX"; for ROCm "gfx90a".
        cuda_home: The folder of the CUDA toolkit; None if CUDA code is not built.
        compiler: The folder of ROCm or of Intel's compiler; None if no code is built for these.
        torch_root: The folder of the torch that is built against.
        torch_version: The version of that torch.
        headers: Folders with CUDA headers of installed packages, for headers that the toolkit
            lacks.
        environment: Environment variables that give builds without torchport the same result.

    Example:
        >>> decided = build.plan()  # doctest: +SKIP
        >>> decided.outcome, decided.code  # doctest: +SKIP
        ('cpu', 'torch-for-cpu')
    """

    text: str

    @cached_property
    def _data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.text)
        return data

    @property
    def outcome(self) -> str:
        return str(self._data["outcome"])

    @property
    def code(self) -> str:
        return str(self._data["code"])

    @property
    def reason(self) -> str:
        return str(self._data["reason"])

    @property
    def remedy(self) -> str:
        return str(self._data["remedy"])

    @property
    def notes(self) -> list[str]:
        return list(self._data["notes"])

    @property
    def archs(self) -> str:
        return str(self._data.get("archs", ""))

    @property
    def cuda_home(self) -> Path | None:
        home = self._data.get("cuda_home")
        return Path(home) if home else None

    @property
    def compiler(self) -> Path | None:
        folder = self._data.get("compiler")
        return Path(folder) if folder else None

    @property
    def torch_root(self) -> Path:
        return Path(self._data["inputs"]["torch"]["root"])

    @property
    def torch_version(self) -> str:
        return str(self._data["inputs"]["torch"]["version"])

    @property
    def headers(self) -> list[str]:
        return list(self._data["inputs"]["headers"])

    @property
    def environment(self) -> dict[str, str]:
        return dict(self._data["environment"])

    def describe(self) -> str:
        """Describes the plan in one line, for a build's log.

        Returns:
            The line, such as "torchport: building for the CPU only: ... [torch-for-cpu]".
        """
        what = {
            "cuda": f"building CUDA code for {self.archs}",
            "rocm": f"building ROCm code for {self.archs}",
            "xpu": f"building XPU code for {self.archs or 'any GPU, as SPIR-V'}",
            "cpu": "building for the CPU only",
            "refuse": "refusing to build",
        }[self.outcome]
        return f"torchport: {what}: {self.reason} [{self.code}]"

    def require(self) -> Plan:
        """Returns the plan itself, unless it is a refusal.

        Returns:
            The plan.

        Raises:
            BuildRefused: The plan is a refusal. The message says why and what to do.
        """
        if self.outcome == "refuse":
            raise BuildRefused(f"{self.describe()}\n  {self.remedy}")
        return self

    def write_extension_stub(
        self,
        output: Path,
        extension: str,
        built_by: str,
        cuda_sources: Iterable[str],
        objects: Iterable[str],
    ) -> None:
        """Writes the C++ source with the extension's provenance, and with stubs for the CUDA part
        if that is not built. A file that already has this content is not rewritten.

        Args:
            output: The file to write.
            extension: The module's full name.
            built_by: The build tool, for the provenance.
            cuda_sources: The sources of the CUDA part, if it is not built.
            objects: The compiled objects; the stubs define their undefined symbols.

        Raises:
            BuildRefused: An object cannot be read.
        """
        with tempfile.NamedTemporaryFile("w", suffix=".json") as recorded:
            recorded.write(self.text)
            recorded.flush()
            words = ["--from", recorded.name, "--extension-stub", output]
            words += ["--extension", extension, "--built-by", built_by]
            for source in cuda_sources:
                words += ["--cuda-source", source]
            for item in objects:
                words += ["--object", item]
            done = _run(["build-plan", *words])
        if done.returncode != 0:
            raise BuildRefused(done.stderr.strip() or f"{self.describe()}\n  {self.remedy}")


def plan(torch: str | os.PathLike[str] | None = None) -> Plan:
    """Decides what to build by asking `torchport build-plan`.

    Args:
        torch: The folder of the torch to build against; the default is the one that this Python
            would import. It is not imported.

    Returns:
        The plan. A refusal is also returned; see ``Plan.require``.

    Raises:
        BuildRefused: torch was not found, or the folder does not contain it.

    Example:
        >>> build.plan().require().describe()  # doctest: +SKIP
        'torchport: building for the CPU only: ... [torch-for-cpu]'
    """
    if torch is None:
        spec = find_spec("torch")
        if spec is None or spec.origin is None:
            raise BuildRefused(
                "torchport: torch was not found, so there is nothing to build against. Build without "
                "isolation (pip install --no-build-isolation), or name the target's torch in "
                "build-system.requires"
            )
        torch = Path(spec.origin).parent
    done = _run(["build-plan", "--json", "--torch", os.fspath(torch)])
    if not done.stdout:
        raise BuildRefused(
            done.stderr.strip()
            or f"torchport: `torchport build-plan` ended with exit code {done.returncode} and "
            "without a message; run it to see the plan"
        )
    return Plan(done.stdout)
