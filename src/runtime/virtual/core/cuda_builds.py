"""Writes the builds for CUDA of one version of torch, for build_facts.cpp: cuda_builds.py OUT VERSION.

The facts are those of python/torchport/torch_releases.json.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]


def _dotted(version: tuple[int, ...] | None) -> str:
    return ".".join(map(str, version or ()))


def main() -> None:
    out, version = sys.argv[1:]
    # Imported by its path, because the package is not installed while it is built.
    name = "torchport._releases"
    spec = importlib.util.spec_from_file_location(name, ROOT / "python/torchport/_releases.py")
    assert spec is not None and spec.loader is not None
    releases = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(releases)
    builds = releases.builds_like(version)
    if not builds:
        sys.exit(
            f"cuda_builds.py: torch {version} is not in python/torchport/torch_releases.json: add "
            "its release there"
        )
    lines = (
        f'CudaBuild{{{one.number}, {one.cudnn_number or 0}, "{_dotted(one.nccl)}", '
        f"{one.capabilities[0]}}},"
        for one in builds
    )
    Path(out).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
