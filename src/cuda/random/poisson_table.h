// Poisson numbers of cuRAND for means up to 4000: one uniform number chooses a column of a table,
// and whether the result is the column's own value or another's (Walker's method of aliases). In
// which order columns are filled is what an H100's answers for the means 0.5, 10, 100 and 1000
// show. Quasirandom numbers keep their order: they are looked up in the sums of the probabilities.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace torchport::cuda_random {

struct PoissonTable {
  unsigned least = 0;             // the value of the first column
  std::vector<double> threshold;  // the part of a column that is its own value's
  std::vector<unsigned> other;
  std::vector<double> sums;

  explicit PoissonTable(double mean);

  // For a uniform number in (0, 1].
  [[nodiscard]] unsigned value(double uniform) const {
    const double at = uniform * static_cast<double>(threshold.size());
    std::size_t column = static_cast<std::size_t>(at);
    if (column >= threshold.size()) column = threshold.size() - 1;
    return at - static_cast<double>(column) < threshold[column]
               ? least + static_cast<unsigned>(column)
               : other[column];
  }
  [[nodiscard]] unsigned ordered_value(double uniform) const {
    const auto at = std::lower_bound(sums.begin(), sums.end() - 1, uniform);
    return least + static_cast<unsigned>(at - sums.begin());
  }
};

}  // namespace torchport::cuda_random
