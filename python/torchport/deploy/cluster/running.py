"""Gives blocks to workers until each is done once."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence

from torchport.deploy.cluster.engines._engine import ClusterError, Workers
from torchport.deploy.cluster.inputs import Block, Inputs
from torchport.deploy.cluster.parts import Parts

# A block that ended so many workers ends the run.
_MOST_LOSSES = 3


def run_blocks(
    workers: Workers,
    inputs: Inputs,
    blocks: Sequence[Block],
    parts: Parts,
    names: Sequence[str],
    show: bool,
) -> None:
    """Computes the blocks that ``parts`` does not have, and adds them. A block whose worker was lost
    runs again. Raises ClusterError for a block that the artefact refuses, and for one whose workers
    are lost again and again.
    """
    done = parts.done()
    waiting = [number for number in reversed(range(len(blocks))) if number not in done]
    progress = _Progress(blocks, done, show)
    losses: Counter[int] = Counter()
    running = 0
    while waiting or running:
        while waiting and workers.idle():
            number = waiting.pop()
            workers.give(number, inputs.tensors(blocks[number]))
            running += 1
        ended = workers.wait()
        running -= 1
        block = blocks[ended.block]
        where = f"{inputs.files[block.file]}, rows {block.begin} to {block.end - 1}"
        if ended.results is not None:
            parts.add(ended.block, names, ended.results)
            progress.add(block, workers.count())
        elif ended.lost:
            losses[ended.block] += 1
            progress.lost(ended.failure)
            if losses[ended.block] == _MOST_LOSSES:
                raise ClusterError(
                    f"{where}: {_MOST_LOSSES} workers ended while they had this block, the last one "
                    f"with: {ended.failure}"
                )
            waiting.append(ended.block)
        else:
            raise ClusterError(f"{where}: {ended.failure}")
    progress.end()


class _Progress:
    def __init__(self, blocks: Sequence[Block], done: set[int], show: bool) -> None:
        self._total = sum(block.end - block.begin for block in blocks)
        self._before = sum(blocks[at].end - blocks[at].begin for at in done if at < len(blocks))
        self._rows = 0
        self._lost = 0
        self._show = show
        self._begin = self._shown = time.monotonic()
        if self._before and show:
            print(f"{self._before} of {self._total} rows were done before", file=sys.stderr)

    def add(self, block: Block, workers: int) -> None:
        self._rows += block.end - block.begin
        now = time.monotonic()
        pause = 0.25 if sys.stderr.isatty() else 10
        if self._show and now - self._shown >= pause:
            self._shown = now
            end = "\r" if sys.stderr.isatty() else "\n"
            print(f"{self._text()}, {workers} workers", end=end, file=sys.stderr, flush=True)

    def lost(self, failure: str) -> None:
        self._lost += 1
        if self._show:
            print(f"a worker was lost ({failure}); its block runs again", file=sys.stderr)

    def end(self) -> None:
        if self._show:
            lost = f", {self._lost} blocks ran again" if self._lost else ""
            print(self._text() + lost, file=sys.stderr)

    def _text(self) -> str:
        seconds = time.monotonic() - self._begin
        rate = self._rows / seconds if seconds else 0.0
        return (
            f"{self._before + self._rows} of {self._total} rows, {seconds:.1f} s, {rate:.1f} rows/s"
        )
