"""Runs a program and writes the seconds between the ends of its optimizer's steps, the device idle at each.

python time_steps.py OUT.json program.py [arguments]
"""

from __future__ import annotations

import itertools
import json
import runpy
import sys
import time


def main() -> None:
    out, program, *arguments = sys.argv[1:]
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook

    ends: list[float] = []

    def note(*_: object) -> None:
        torch.cuda.synchronize()
        ends.append(time.perf_counter())

    register_optimizer_step_post_hook(note)
    sys.argv = [program, *arguments]
    runpy.run_path(program, run_name="__main__")
    steps = [after - before for before, after in itertools.pairwise(ends)]
    written = {"arguments": arguments, "device": torch.cuda.get_device_name(), "seconds": steps}
    with open(out, "w") as file:
        json.dump(written, file)


main()
