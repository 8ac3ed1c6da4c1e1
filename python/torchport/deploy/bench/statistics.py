"""Statistics of timed rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


def quantile(values: Sequence[float], share: float) -> float:
    """Linear between the nearest two values, as numpy's default is."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@dataclass(frozen=True)
class Ratio:
    """How many times faster one mode is than another, over rounds that were run side by side.

    `low` and `high` hold 80 % of the rounds. What disturbed the machine during a round disturbed both
    modes; so the ratio of a round is steadier than its times.
    """

    median: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether the rounds agree on which is faster: the spread does not reach 1."""
        return self.low > 1 or self.high < 1


def ratio(slower: Sequence[Sequence[float]], faster: Sequence[Sequence[float]]) -> Ratio:
    """Of rounds of seconds, paired by their number; by each round's median."""
    each = [median(one) / median(two) for one, two in zip(slower, faster, strict=True)]
    return Ratio(median(each), quantile(each, 0.1), quantile(each, 0.9))


def ranks(rounds: Sequence[Sequence[Sequence[float]]]) -> list[int]:
    """The rank of each mode, 1 is the fastest; modes share a rank if the rounds do not decide their
    order.

    A round's times count relative to one another: a slow round is slow for all.
    """
    seconds = [[median(one) for one in mode] for mode in rounds]
    scale = [median(every) for every in zip(*seconds, strict=True)]
    relative = [median([s / by for s, by in zip(mode, scale, strict=True)]) for mode in seconds]
    order = sorted(range(len(rounds)), key=lambda index: relative[index])
    found = [0] * len(rounds)
    for place, index in enumerate(order):
        if place == 0:
            found[index], first = 1, index
        elif ratio(rounds[index], rounds[first]).clear:
            found[index], first = place + 1, index
        else:
            found[index] = found[first]
    return found
