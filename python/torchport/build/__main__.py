"""``python -m torchport.build``: answers build tools that are not written in Python."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from torchport._printable import complain
from torchport.build._plan import BuildRefused, cmake_dir
from torchport.build._target import check_target, project_requirements


def main(words: list[str] | None = None) -> int:
    """Exit codes: 0 done, 1 refused, 2 wrong use."""
    parser = argparse.ArgumentParser(prog="python -m torchport.build", description=__doc__)
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument(
        "--cmake-dir", action="store_true", help="print the folder that holds Torchport.cmake"
    )
    asked.add_argument(
        "--check-target",
        metavar="TORCH",
        help="check that the build's target has this torch",
    )
    parser.add_argument(
        "--project", metavar="DIR", default=".", help="the folder that holds pyproject.toml"
    )
    options = parser.parse_args(words)
    if options.cmake_dir:
        print(cmake_dir())
        return 0
    try:
        for note in check_target(
            Path(options.check_target), project_requirements(Path(options.project))
        ):
            print(note)
    except BuildRefused as refused:
        complain(refused)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
