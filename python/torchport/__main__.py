"""``python -m torchport``: runs the torchport program of this environment."""

import os
import sys
import sysconfig
from pathlib import Path


def main() -> int:
    name = "torchport.exe" if os.name == "nt" else "torchport"
    program = Path(sysconfig.get_path("scripts"), name)
    if not program.is_file():
        print(f"torchport: there is no program at {program}; reinstall torchport", file=sys.stderr)
        return 3
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
