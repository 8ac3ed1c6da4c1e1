#include "cuda/random/poisson_table.h"

#include <cmath>

namespace torchport::cuda_random {

PoissonTable::PoissonTable(double mean) {
  // All values whose probability is not 0 in double.
  const double log_mean = std::log(mean);
  const auto probability = [&](double k) {
    int sign = 0;  // std::lgamma writes a variable of the process
    return std::exp(k * log_mean - mean - lgamma_r(k + 1, &sign));
  };
  double first = std::floor(mean);
  while (first > 0 && probability(first - 1) > 0) --first;
  least = static_cast<unsigned>(first);
  for (double k = first;; ++k) {
    const double p = probability(k);
    if (p == 0 && k > mean) break;
    threshold.push_back(p);
    sums.push_back(p + (sums.empty() ? 0.0 : sums.back()));
  }
  const std::size_t columns = threshold.size();
  for (double& one : threshold) one *= static_cast<double>(columns);
  other.resize(columns);
  for (std::size_t i = 0; i < columns; ++i) other[i] = least + static_cast<unsigned>(i);
  // Columns that are not full take from the last that is more than full, from the first column to
  // the last, and again for those that have given too much.
  std::vector<bool> done(columns);
  std::size_t giver = columns;
  const auto find_giver = [&] {
    while (giver > 0 && !(threshold[giver - 1] > 1)) --giver;
    return giver > 0;
  };
  for (bool again = true; again && find_giver();) {
    again = false;
    for (std::size_t i = 0; i < columns; ++i) {
      if (done[i] || threshold[i] >= 1) continue;
      if (!find_giver()) return;
      done[i] = again = true;
      other[i] = least + static_cast<unsigned>(giver - 1);
      threshold[giver - 1] -= 1 - threshold[i];
    }
  }
}

}  // namespace torchport::cuda_random
