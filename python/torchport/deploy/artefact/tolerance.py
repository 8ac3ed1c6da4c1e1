"""What a result of an artefact may differ by from that of its model."""

from __future__ import annotations

from dataclasses import dataclass

import torch

# Allowed differences: absolute, and relative to the largest magnitude of the same output. A network
# sums thousands of rounded products, so a small element has no relative precision of its own.
# The values are the epsilon of the dtype times a number of roundings: about a thousand for float32,
# and a few for the 16-bit dtypes, whose sums are computed in float32.
_TOLERANCES = {
    torch.float64: (1e-8, 1e-8),
    torch.float32: (1e-4, 1e-4),
    torch.float16: (4e-3, 4e-3),
    torch.bfloat16: (3e-2, 3e-2),
}

# Columns of a result may have scales of their own: coordinates in pixels beside scores. An axis of so few columns is
# compared by column, with at least this part of the allowance of the whole result.
_MOST_COLUMNS = 256
_LEAST_SHARE = 1e-3


@dataclass(frozen=True)
class Tolerance:
    """``absolute`` is for magnitudes of 1 and more, and in proportion less for smaller ones; if the user chose
    the values, it is ``literal``, for all magnitudes."""

    absolute: float
    relative: float
    literal: bool = False

    @staticmethod
    def of(dtype: torch.dtype) -> Tolerance:
        return Tolerance(*_TOLERANCES.get(dtype, _TOLERANCES[torch.float32]))

    def most(self, magnitude: float) -> float:
        """What any result of this magnitude may differ by at most. One that is smaller than 1 may differ by less
        (`of_elements`) unless roundings explain it."""
        return self.absolute + self.relative * magnitude

    def of_scale(self, scale: torch.Tensor) -> torch.Tensor:
        absolute = self.absolute if self.literal else self.absolute * scale.clamp(max=1.0)
        return absolute + self.relative * scale

    def allows(self, difference: float, magnitude: float) -> bool:
        return difference <= float(self.of_scale(torch.tensor(magnitude, dtype=torch.float64)))


def of_elements(want: torch.Tensor, tolerance: Tolerance) -> torch.Tensor:
    """What each element may differ by if it is compared with the elements of its column."""
    largest = want.abs().nan_to_num(0.0, 0.0, 0.0)
    return tolerance.of_scale(of_columns(largest).clamp(min=_LEAST_SHARE * float(largest.max())))


def of_columns(values: torch.Tensor) -> torch.Tensor:
    """For each element the largest one of its column, along each axis but the first that has few columns."""
    found = torch.full_like(values, float(values.max()))
    for axis in range(1, values.dim()):
        if 1 < values.shape[axis] <= _MOST_COLUMNS:
            others = [other for other in range(values.dim()) if other != axis]
            found = torch.minimum(found, values.amax(others, keepdim=True))
    return found
