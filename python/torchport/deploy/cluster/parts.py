"""The results of blocks on disk, so that an interrupted run can go on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from torchport._files import staged, write_text
from torchport.deploy.cluster.engines._engine import ClusterError


class Parts:
    """The folder OUTPUT.parts: one file for each block that is done, and the plan that they belong
    to. A run with the same plan goes on; one with another plan is refused.
    """

    def __init__(self, output: Path, plan: dict[str, Any], fresh: bool) -> None:
        self.output = output
        self.folder = output.with_name(output.name + ".parts")
        if fresh:
            shutil.rmtree(self.folder, ignore_errors=True)
        known = self.folder / "plan.json"
        if known.is_file():
            if json.loads(known.read_text()) != plan:
                raise ClusterError(
                    f"{self.folder} has the parts of another run: another artefact, other files or "
                    "another --batch-size. Give --fresh to begin again, or another --output"
                )
        elif self.folder.exists():
            raise ClusterError(f"{self.folder} is no folder of parts; give another --output")
        else:
            self.folder.mkdir()
            write_text(known, json.dumps(plan, indent=1))

    def _path(self, block: int) -> Path:
        return self.folder / f"block-{block:08}.safetensors"

    def done(self) -> set[int]:
        return {
            int(path.stem.removeprefix("block-"))
            for path in self.folder.glob("block-*.safetensors")
        }

    def add(self, block: int, names: Sequence[str], tensors: Sequence[torch.Tensor]) -> None:
        with staged(self._path(block)) as target:
            save_file({n: t.contiguous() for n, t in zip(names, tensors, strict=True)}, target)

    def join(self, names: Sequence[str], blocks: int) -> None:
        """Writes the output, with the results of all blocks in their order, and deletes the folder."""
        parts = [load_file(self._path(block)) for block in range(blocks)]
        joined = {name: torch.cat([part[name] for part in parts]) for name in names}
        with staged(self.output) as target:
            if self.output.suffix == ".npy":
                np.save(target, joined[names[0]].numpy())
            else:
                save_file(joined, target)
        shutil.rmtree(self.folder)
