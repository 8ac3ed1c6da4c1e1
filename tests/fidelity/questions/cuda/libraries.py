"""cub and thrust: the order of sums, by their bits, and sizes of temporary memory."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from _programs import program

HEAVY = True

for name in ("cub_blocks", "cub_device", "thrust_algorithms"):
    program(name)
