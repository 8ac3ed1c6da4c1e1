"""``python -m torchport``: runs the torchport program that was installed with this package."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path


def places() -> Iterator[Path]:
    """The folders in which installers put the program, the one that belongs to this package first.

    The package may lie in a folder that pip made for one build, and not in the environment that
    Python was started from.
    """
    site = Path(__file__).resolve().parents[1]
    for environment in [*site.parents][2:3]:  # a --target folder may have fewer
        yield environment / "bin"
    yield Path(sysconfig.get_path("scripts"))
    yield site / "bin"  # pip install --target
    yield Path(sysconfig.get_path("scripts", f"{os.name}_user"))


def main() -> int:
    """Replaces this process by the program. Returns only if there is none."""
    for folder in places():
        program = folder / "torchport"
        if os.access(program, os.X_OK):
            os.execv(program, [str(program), *sys.argv[1:]])
    print(
        f"torchport: there is no program torchport in {sysconfig.get_path('scripts')}; install "
        "torchport again",
        file=sys.stderr,
    )
    return 3


if __name__ == "__main__":
    sys.exit(main())
