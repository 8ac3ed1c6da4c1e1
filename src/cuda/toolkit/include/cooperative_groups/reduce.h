// reduce() of cooperative groups: the sum over a group, for each of its threads.
#pragma once

#include "cooperative_groups.h"
#include "torchport/group_operators.h"

namespace cooperative_groups {

template <class Group, class T, class Combine>
auto reduce(const Group& group, T value, Combine&& combine) {
  using Value = std::remove_cv_t<std::remove_reference_t<T>>;
  Value result = value;
  const unsigned size = group.num_threads();
  const unsigned rank = group.thread_rank();
  if ((size & (size - 1)) == 0) {
    for (unsigned step = size / 2; step > 0; step /= 2)
      result = combine(result, group.shfl_xor(result, step));
    return result;
  }
  unsigned power = 1;
  while (power * 2 < size) power *= 2;
  for (unsigned step = power; step > 0; step /= 2) {
    const Value other = group.shfl_down(result, step);
    if (rank + step < size) result = combine(result, other);
  }
  return group.shfl(result, 0);
}
template <class Group, class T, class Combine, class U>
void reduce_store_async(const Group& group, T* to, U value, Combine&& combine) {
  const auto result = reduce(group, value, combine);
  if (group.thread_rank() == 0) *to = result;
}

}  // namespace cooperative_groups
