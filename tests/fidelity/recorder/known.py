"""Differences whose cause is known, from known.toml. Needs Python 3.11; recording does not."""

from __future__ import annotations

import fnmatch
import tomllib
from dataclasses import dataclass
from pathlib import Path

from recorder.comparison import Difference

# Whose doing a difference is.
CAUSES = {
    "torchport": "torchport differs from a real device",
    "host": "it follows from the host's kernels, and is meant to",
    "release": "the recording's build of torch is another one",
}


@dataclass(frozen=True)
class Known:
    """Differences of a kind whose questions match; `message` is a part of what they say."""

    kind: str
    questions: str | list[str]
    cause: str
    reason: str
    device: str = "*"
    message: str = ""

    def patterns(self) -> list[str]:
        return [self.questions] if isinstance(self.questions, str) else self.questions

    def fits(self, device: str, one: Difference) -> bool:
        return (
            one.kind == self.kind
            and any(fnmatch.fnmatchcase(one.name, pattern) for pattern in self.patterns())
            and fnmatch.fnmatchcase(device, self.device)
            and self.message in one.text()
        )


def load(path: Path) -> list[Known]:
    """The entries of the file.

    Raises:
        ValueError: An entry has a cause that is none.
    """
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("difference", [])
    known = [Known(**entry) for entry in entries]
    for entry in known:
        if entry.cause not in CAUSES:
            raise ValueError(f"{path.name}: no such cause: {entry.cause!r}")
    return known


def sort_out(
    device: str, differences: list[Difference], known: list[Known]
) -> tuple[list[tuple[Difference, Known]], list[Difference]]:
    """The known differences of a device, each with its entry, and the others."""
    explained: list[tuple[Difference, Known]] = []
    others = []
    for one in differences:
        entry = next((k for k in known if k.fits(device, one)), None)
        if entry is None:
            others.append(one)
        else:
            explained.append((one, entry))
    return explained, others
