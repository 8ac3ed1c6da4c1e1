"""The rows of files, in blocks: .npy, .npz, safetensors and torch.save."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from torchport.deploy.cluster.engines._engine import ClusterError


@dataclass(frozen=True)
class Block:
    """Rows ``begin`` to ``end`` of a file."""

    file: int
    begin: int
    end: int


class Inputs:
    """The tensors of the files by the contract's inputs, mapped and not read."""

    def __init__(self, files: Sequence[Path], contract: dict[str, Any]) -> None:
        self.files = list(files)
        self._names = [entry["name"] for entry in contract["inputs"]]
        self._cut = [bool(entry["shape"]) for entry in contract["inputs"]]
        self._tensors = [self._read(path) for path in self.files]
        self.rows = [self._rows(path, of) for path, of in zip(files, self._tensors, strict=True)]

    def _read(self, path: Path) -> list[torch.Tensor]:
        try:
            found = _tensors_of(path)
        except (OSError, ValueError, RuntimeError) as error:
            raise ClusterError(f"{path}: {error}") from error
        if isinstance(found, torch.Tensor):
            if len(self._names) != 1:
                raise ClusterError(
                    f"{path} has one array, and the artefact has the inputs {', '.join(self._names)}: "
                    "use .npz or .safetensors with these names"
                )
            return [found]
        missing = [name for name in self._names if name not in found]
        if missing:
            raise ClusterError(
                f"{path} has no tensor {', '.join(missing)}; it has {', '.join(found)}"
            )
        return [found[name] for name in self._names]

    def _rows(self, path: Path, tensors: list[torch.Tensor]) -> int:
        rows = {len(one) for one, cut in zip(tensors, self._cut, strict=True) if cut and one.dim()}
        if len(rows) != 1:
            raise ClusterError(
                f"{path}: its tensors have {sorted(rows)} rows, and must have as many each"
            )
        return rows.pop()

    def blocks(self, rows: int) -> list[Block]:
        return [
            Block(file, begin, min(begin + rows, count))
            for file, count in enumerate(self.rows)
            for begin in range(0, count, rows)
        ]

    def tensors(self, block: Block) -> list[torch.Tensor]:
        """Copies of the block's rows, which do not keep the file mapped."""
        return [
            one[block.begin : block.end].clone() if cut else one.clone()
            for one, cut in zip(self._tensors[block.file], self._cut, strict=True)
        ]


def _tensors_of(path: Path) -> torch.Tensor | dict[str, torch.Tensor]:
    if path.suffix == ".npy":
        return _from(np.load(path, mmap_mode="c", allow_pickle=False))
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            return {name: _from(arrays[name]) for name in arrays.files}
    from torchport.place.checkpoints import load

    loaded = load(str(path))
    if isinstance(loaded, torch.Tensor):
        return loaded
    return dict(_named(loaded))


def _named(loaded: Any) -> Iterator[tuple[str, torch.Tensor]]:
    for name, value in loaded.items():
        if isinstance(value, torch.Tensor):
            yield name, value


def _from(array: Any) -> torch.Tensor:
    return torch.from_numpy(np.asarray(array))
