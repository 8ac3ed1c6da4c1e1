// Copies by a group. They are done at once; waiting for one waits for the group.
#pragma once

#include <cstring>

#include "cooperative_groups.h"

namespace cooperative_groups {

template <class Group, class To, class From>
void memcpy_async(const Group& group, To* to, const From* from, size_t bytes) {
  if (group.thread_rank() != 0) return;
  std::memcpy(to, from, bytes);
  torchport::cuda::copies_later(to, bytes);
  torchport::cuda::commit_copies();
}
template <class Group, class To, class ToLayout, class From, class FromLayout>
void memcpy_async(const Group& group, To* to, const ToLayout& to_count, const From* from,
                  const FromLayout& from_count) {
  const size_t count = static_cast<size_t>(to_count) < static_cast<size_t>(from_count)
                           ? static_cast<size_t>(to_count)
                           : static_cast<size_t>(from_count);
  memcpy_async(group, to, from, count * sizeof(To));
}
template <unsigned Stages, class Group>
void wait_prior(const Group& group) {
  if (group.thread_rank() == 0) torchport::cuda::wait_for_copies(Stages);
  group.sync();
}
template <class Group>
void wait(const Group& group) {
  if (group.thread_rank() == 0) torchport::cuda::wait_for_copies(0);
  group.sync();
}

}  // namespace cooperative_groups
