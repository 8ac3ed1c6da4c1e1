"""Compares two recordings, answer by answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from recorder.normal import comparable

NOT_ANSWERED = "not answered"


@dataclass(frozen=True)
class Difference:
    """A question whose two answers differ; `lines` say where, "value.peak: 3 and 4"."""

    kind: str
    group: str
    name: str
    lines: tuple[str, ...]

    @property
    def path(self) -> str:
        return f"{self.kind}/{self.group}"

    def text(self) -> str:
        return "\n".join([f"{self.path}: {self.name}", *(f"    {line}" for line in self.lines)])


@dataclass
class Tally:
    """One kind's questions."""

    alike: int = 0
    differ: int = 0
    not_answered: int = 0


@dataclass
class Comparison:
    tallies: dict[str, Tally] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)

    def table(self, known: dict[str, int] | None = None) -> list[str]:
        """Lines of the table; with `known`, how many differences of a kind are known."""
        heads = ["kind", "alike", "differ", "not answered"] + (["known"] if known else [])
        rows = [
            [kind, t.alike, t.differ, t.not_answered] + ([known.get(kind, 0)] if known else [])
            for kind, t in self.tallies.items()
        ]
        rows.append(["all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])])
        lines = ["".join(f"{w:<12}" if i == 0 else f"{w:>14}" for i, w in enumerate(heads))]
        for row in rows:
            lines.append("".join(f"{w:<12}" if i == 0 else f"{w:>14}" for i, w in enumerate(row)))
        return lines


def compare(real: dict[str, Any], other: dict[str, Any]) -> Comparison:
    """Compares the answers of two recordings, as record.py writes them. An answer that one of them
    does not have, or says that its machine could not give, is not answered."""
    result = Comparison()
    first, second = real["answers"], other["answers"]
    for kind in sorted(first.keys() | second.keys()):
        tally = result.tallies.setdefault(kind, Tally())
        groups = [answers.get(kind, {}) for answers in (first, second)]
        for group in sorted(groups[0].keys() | groups[1].keys()):
            sides = [side.get(group, {}) for side in groups]
            for name in [*sides[0], *(n for n in sides[1] if n not in sides[0])]:
                pair = [side.get(name, {NOT_ANSWERED: "not asked"}) for side in sides]
                if any(NOT_ANSWERED in one for one in pair):
                    tally.not_answered += 1
                    continue
                lines = tuple(differences(*pair))
                if lines:
                    tally.differ += 1
                    result.differences.append(Difference(kind, group, name, lines))
                else:
                    tally.alike += 1
    return result


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """Where two answers differ, a line each. Floats may differ by the answer's tolerance."""
    tolerance = first.get("tolerance", second.get("tolerance"))
    keys = [k for k in [*first, *(k for k in second if k not in first)] if k != "tolerance"]
    return [
        line
        for key in keys
        for line in _differences(key, first.get(key, MISSING), second.get(key, MISSING), tolerance)
    ]


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


def _differences(where: str, a: Any, b: Any, tolerance: float | None) -> Iterator[str]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(k for k in b if k not in a)]:
            if key == "bytes" and tolerance is not None:
                continue
            yield from _differences(
                f"{where}.{key}", a.get(key, MISSING), b.get(key, MISSING), tolerance
            )
    elif isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            yield f"{where}: {a!r} and {b!r}"
            return
        for index, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from _differences(f"{where}[{index}]", x, y, tolerance)
    elif not _same(a, b, tolerance):
        yield f"{where}: {a!r} and {b!r}"


def _same(a: Any, b: Any, tolerance: float | None) -> bool:
    if isinstance(a, str) and isinstance(b, str):
        return comparable(a) == comparable(b)
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    numbers = isinstance(a, (int, float)) and isinstance(b, (int, float))
    if numbers and tolerance is not None and float in (type(a), type(b)):
        return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))
    return type(a) is type(b) and a == b
