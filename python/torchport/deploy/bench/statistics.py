"""Statistics of timed rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


def quantile(values: Sequence[float], share: float) -> float:
    """The quantile of ``values``, interpolated linearly between two values as numpy does."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@dataclass(frozen=True)
class Ratio:
    """How many times faster one mode is than another, over rounds that both modes took part in.

    80 % of the rounds lie between `low` and `high`; both are None after a single round, which has no
    spread. Other load on the machine slows both modes of a round, so the ratio varies less than the
    times.
    """

    median: float
    low: float | None
    high: float | None

    @property
    def spread(self) -> tuple[float, float] | None:
        """`low` and `high`, or None after a single round."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def clear(self) -> bool:
        """Whether the rounds agree on the faster side: there are several, and 1 is not between `low`
        and `high`."""
        return self.spread is not None and not self.spread[0] <= 1 <= self.spread[1]


def spread(values: Sequence[float]) -> tuple[float, float] | tuple[None, None]:
    """Between which numbers 80 % of ``values`` lie; a single value has no spread."""
    return (quantile(values, 0.1), quantile(values, 0.9)) if len(values) > 1 else (None, None)


def ratio(slower: Sequence[Sequence[float]], faster: Sequence[Sequence[float]]) -> Ratio:
    """The ratio of the median seconds in each round; round N of one mode is paired with N of the
    other."""
    each = [median(one) / median(two) for one, two in zip(slower, faster, strict=True)]
    return Ratio(median(each), *spread(each))


def ranks(rounds: Sequence[Sequence[Sequence[float]]]) -> list[int]:
    """The rank of each mode; 1 is the fastest. Modes share a rank if the rounds do not decide their
    order. A single round decides nothing: all ranks are then 0.

    The times of a round are compared with each other, because a slow round is slow for all modes.
    """
    seconds = [[median(one) for one in mode] for mode in rounds]
    if any(len(mode) < 2 for mode in rounds):
        return [0] * len(rounds)
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
