// Scans of cooperative groups.
#pragma once

#include "cooperative_groups.h"
#include "torchport/group_operators.h"

namespace cooperative_groups {

template <class Group, class T, class Combine>
auto inclusive_scan(const Group& group, T value, Combine&& combine) {
  using Value = std::remove_cv_t<std::remove_reference_t<T>>;
  Value result = value;
  const unsigned size = group.num_threads();
  const unsigned rank = group.thread_rank();
  for (unsigned step = 1; step < size; step *= 2) {
    const Value before = group.shfl_up(result, step);
    if (rank >= step) result = combine(before, result);
  }
  return result;
}
template <class Group, class T>
auto inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<std::remove_cv_t<T>>());
}
// The first thread gets a value of zero bits.
template <class Group, class T, class Combine>
auto exclusive_scan(const Group& group, T value, Combine&& combine) {
  auto result = group.shfl_up(inclusive_scan(group, value, combine), 1);
  if (group.thread_rank() == 0) result = {};
  return result;
}
template <class Group, class T>
auto exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<std::remove_cv_t<T>>());
}

}  // namespace cooperative_groups
