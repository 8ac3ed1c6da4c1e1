// What groups of lanes of one warp share: each is a mask.
#pragma once

#include <type_traits>

#include "torchport/bits.h"
#include "torchport/block_functions.h"
#include "torchport/warp_functions.h"

namespace torchport::cuda {

// The lane that has `rank` lanes of the mask before it; 32 if there is none.
inline unsigned lane_of_rank(unsigned mask, unsigned rank) {
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((mask >> lane & 1U) != 0 && rank-- == 0) return lane;
  return 32;
}
inline unsigned lanes_before(unsigned lane) {
  return (1U << lane) - 1U;
}
inline unsigned count_lanes(unsigned mask) {
  return static_cast<unsigned>(__builtin_popcount(mask));
}
// Bit i of the result: whether the lane of rank i is among `lanes`.
inline unsigned ranks_of(unsigned mask, unsigned lanes) {
  unsigned result = 0;
  unsigned rank = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    if ((lanes >> lane & 1U) != 0) result |= 1U << rank;
    ++rank;
  }
  return result;
}

inline unsigned thread_number() {
  const ::uint3 at = thread_index();
  const ::dim3 size = block_size();
  return at.x + size.x * (at.y + size.y * at.z);
}
inline unsigned threads_of_block() {
  const ::dim3 size = block_size();
  return size.x * size.y * size.z;
}

// The value that the lane of rank `rank` left; one's own if the group has no such rank.
template <class T>
T value_of_rank(unsigned mask, const T& value, unsigned rank, const char* what) {
  const auto* all = static_cast<const char*>(exchange(mask, &value, sizeof(T), {what, "", 0}));
  const unsigned lane = lane_of_rank(mask, rank);
  T result = value;
  if (lane < 32) std::memcpy(static_cast<void*>(&result), all + lane * sizeof(T), sizeof(T));
  return result;
}

// The functions that tiles and coalesced groups have in common. `Group` has lanes().
template <class Group>
class LaneGroup {
 public:
  unsigned thread_rank() const { return count_lanes(mask() & lanes_before(lane_of_thread())); }
  void sync() const { exchange(mask(), nullptr, 0, {"sync() of a group", "", 0}); }

  template <class T>
  T shfl(T value, unsigned rank) const {
    return value_of_rank(mask(), value, rank % self().size(), "shfl of a group");
  }
  template <class T>
  T shfl_up(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return value_of_rank(mask(), value, rank < delta ? 32U : rank - delta, "shfl_up of a group");
  }
  template <class T>
  T shfl_down(T value, unsigned delta) const {
    return value_of_rank(mask(), value, thread_rank() + delta, "shfl_down of a group");
  }
  template <class T>
  T shfl_xor(T value, unsigned lanes) const {
    return value_of_rank(mask(), value, thread_rank() ^ lanes, "shfl_xor of a group");
  }
  int any(int predicate) const { return ballot_of(predicate != 0, "any of a group") != 0 ? 1 : 0; }
  int all(int predicate) const { return ballot_of(predicate == 0, "all of a group") == 0 ? 1 : 0; }
  unsigned ballot(int predicate) const {
    return ranks_of(mask(), ballot_of(predicate != 0, "ballot of a group"));
  }
  template <class T>
  unsigned match_any(T value) const {
    bool all_match = false;
    return ranks_of(mask(), matching(mask(), value, all_match, {"match_any of a group", "", 0}));
  }
  template <class T>
  unsigned match_all(T value, int& predicate) const {
    bool all_match = false;
    const unsigned lanes = matching(mask(), value, all_match, {"match_all of a group", "", 0});
    predicate = all_match ? 1 : 0;
    return all_match ? ranks_of(mask(), lanes) : 0;
  }

 private:
  const Group& self() const { return static_cast<const Group&>(*this); }
  unsigned mask() const { return self().lanes(); }
  unsigned ballot_of(bool predicate, const char* what) const {
    return torchport::cuda::ballot(mask(), predicate, {what, "", 0});
  }
};

}  // namespace torchport::cuda
