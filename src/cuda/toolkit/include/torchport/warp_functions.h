// CUDA's functions between the lanes of a warp. Sources: CUDA C++ programming guide, "Warp shuffle
// functions" ff., and the PTX ISA for lanes out of range (shfl.sync).
#pragma once

#include <type_traits>

#include "torchport/warp.h"

namespace torchport::cuda {

// Types smaller than int are passed as int; halves and vectors as they are.
template <class T>
using Shuffled = std::conditional_t<std::is_integral_v<T> && (sizeof(T) < sizeof(int)), int, T>;

enum class Shuffle { kIndex, kUp, kDown, kXor };

struct Source {
  unsigned lane;
  bool in_range;
};
inline Source source_lane(Shuffle form, unsigned lane, unsigned b, unsigned clamp,
                          unsigned segments) {
  const unsigned most = (lane & segments) | (clamp & ~segments);
  unsigned from = 0;
  bool in_range = false;
  switch (form) {
    case Shuffle::kUp:
      from = lane - b;
      in_range = static_cast<int>(from) >= static_cast<int>(most);
      break;
    case Shuffle::kDown:
      from = lane + b;
      in_range = from <= most;
      break;
    case Shuffle::kXor:
      from = lane ^ b;
      in_range = from <= most;
      break;
    case Shuffle::kIndex:
      from = (lane & segments) | (b & ~segments);
      in_range = from <= most;
      break;
  }
  return {in_range ? from : lane, in_range};
}

// `c` as the instruction has it: the clamp in bits 0 to 4, the segments in bits 8 to 12.
template <class T>
T shuffle_instruction(Shuffle form, unsigned mask, T value, unsigned b, unsigned c, bool& in_range,
                      const Site& site) {
  const auto* all = static_cast<const char*>(exchange(mask, &value, sizeof(T), site));
  const Source source = source_lane(form, lane_of_thread(), b & 31U, c & 31U, c >> 8U & 31U);
  in_range = source.in_range;
#ifdef __TORCHPORT_CHECK__
  check_lane(source.lane, site);
#endif
  T result;
  std::memcpy(&result, all + source.lane * sizeof(T), sizeof(T));
  return result;
}

template <class T>
T shuffle(Shuffle form, unsigned mask, T value, unsigned b, int width, const Site& site) {
  bool in_range = false;
  const unsigned segments = (32U - static_cast<unsigned>(width)) << 8U;
  return shuffle_instruction(form, mask, value, b, segments | (form == Shuffle::kUp ? 0U : 31U),
                             in_range, site);
}

// The bits of those lanes of the mask, that have come, for which it is true.
inline unsigned ballot(unsigned mask, bool predicate, const Site& site) {
  const unsigned mine = predicate ? 1U << lane_of_thread() : 0U;
  const auto* all = static_cast<const unsigned*>(exchange(mask, &mine, sizeof(mine), site));
  unsigned result = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    // What a lane left has only its own bit; what no lane left may be anything.
    if ((mask >> lane & 1U) != 0) result |= all[lane] & (1U << lane);
  return result;
}

template <class T>
unsigned matching(unsigned mask, T value, bool& all_match, const Site& site) {
  struct Left {
    unsigned lane;
    T value;
  };
  Left mine{};
  mine.lane = 1U << lane_of_thread();
  mine.value = value;
  const auto* all = static_cast<const char*>(exchange(mask, &mine, sizeof(mine), site));
  unsigned result = 0;
  unsigned came = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    Left left;
    std::memcpy(&left, all + lane * sizeof(Left), sizeof(Left));
    if ((mask >> lane & 1U) == 0 || left.lane != 1U << lane) continue;
    came |= left.lane;
    if (std::memcmp(&left.value, &value, sizeof(T)) == 0) result |= left.lane;
  }
  all_match = result == came;
  return result;
}

template <class T, class Combine>
T reduce(unsigned mask, T value, const Site& site, Combine combine) {
  struct Left {
    unsigned lane;
    T value;
  };
  Left mine{};
  mine.lane = 1U << lane_of_thread();
  mine.value = value;
  const auto* all = static_cast<const char*>(exchange(mask, &mine, sizeof(mine), site));
  bool first = true;
  T result = value;
  for (unsigned lane = 0; lane < 32; ++lane) {
    Left left;
    std::memcpy(&left, all + lane * sizeof(Left), sizeof(Left));
    if ((mask >> lane & 1U) == 0 || left.lane != 1U << lane) continue;
    result = first ? left.value : combine(result, left.value);
    first = false;
  }
  return result;
}

}  // namespace torchport::cuda

// The place of the call, as default arguments: it is in the error when a thread waits for ever.
#define TORCHPORT_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define TORCHPORT_SITE(what) \
  ::torchport::cuda::Site {  \
    what, file, line         \
  }

template <class T>
::torchport::cuda::Shuffled<T> __shfl_sync(unsigned mask, T value, int lane, int width = 32,
                                           TORCHPORT_PLACE) {
  return ::torchport::cuda::shuffle<::torchport::cuda::Shuffled<T>>(
      ::torchport::cuda::Shuffle::kIndex, mask, value, static_cast<unsigned>(lane), width,
      TORCHPORT_SITE("__shfl_sync"));
}
template <class T>
::torchport::cuda::Shuffled<T> __shfl_up_sync(unsigned mask, T value, unsigned delta,
                                              int width = 32, TORCHPORT_PLACE) {
  return ::torchport::cuda::shuffle<::torchport::cuda::Shuffled<T>>(
      ::torchport::cuda::Shuffle::kUp, mask, value, delta, width, TORCHPORT_SITE("__shfl_up_sync"));
}
template <class T>
::torchport::cuda::Shuffled<T> __shfl_down_sync(unsigned mask, T value, unsigned delta,
                                                int width = 32, TORCHPORT_PLACE) {
  return ::torchport::cuda::shuffle<::torchport::cuda::Shuffled<T>>(
      ::torchport::cuda::Shuffle::kDown, mask, value, delta, width,
      TORCHPORT_SITE("__shfl_down_sync"));
}
template <class T>
::torchport::cuda::Shuffled<T> __shfl_xor_sync(unsigned mask, T value, int lane_mask,
                                               int width = 32, TORCHPORT_PLACE) {
  return ::torchport::cuda::shuffle<::torchport::cuda::Shuffled<T>>(
      ::torchport::cuda::Shuffle::kXor, mask, value, static_cast<unsigned>(lane_mask), width,
      TORCHPORT_SITE("__shfl_xor_sync"));
}

inline unsigned __ballot_sync(unsigned mask, int predicate, TORCHPORT_PLACE) {
  return ::torchport::cuda::ballot(mask, predicate != 0, TORCHPORT_SITE("__ballot_sync"));
}
inline int __any_sync(unsigned mask, int predicate, TORCHPORT_PLACE) {
  return ::torchport::cuda::ballot(mask, predicate != 0, TORCHPORT_SITE("__any_sync")) != 0;
}
inline int __all_sync(unsigned mask, int predicate, TORCHPORT_PLACE) {
  return ::torchport::cuda::ballot(mask, predicate == 0, TORCHPORT_SITE("__all_sync")) == 0;
}
inline int __uni_sync(unsigned mask, int predicate, TORCHPORT_PLACE) {
  bool all_match = false;
  ::torchport::cuda::matching(mask, static_cast<int>(predicate != 0), all_match,
                              TORCHPORT_SITE("__uni_sync"));
  return all_match ? 1 : 0;
}
__attribute__((noinline)) inline unsigned __activemask() {
  return ::torchport::cuda::active_lanes(__builtin_return_address(0));
}
inline void __syncwarp(unsigned mask = 0xffffffffU, TORCHPORT_PLACE) {
  ::torchport::cuda::exchange(mask, nullptr, 0, TORCHPORT_SITE("__syncwarp"));
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value, TORCHPORT_PLACE) {
  bool all_match = false;
  return ::torchport::cuda::matching<::torchport::cuda::Shuffled<T>>(
      mask, value, all_match, TORCHPORT_SITE("__match_any_sync"));
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* predicate, TORCHPORT_PLACE) {
  bool all_match = false;
  const unsigned lanes = ::torchport::cuda::matching<::torchport::cuda::Shuffled<T>>(
      mask, value, all_match, TORCHPORT_SITE("__match_all_sync"));
  *predicate = all_match ? 1 : 0;
  return all_match ? lanes : 0;
}

#define TORCHPORT_REDUCE(NAME, TYPE, EXPRESSION)                                               \
  inline TYPE NAME(unsigned mask, TYPE value, TORCHPORT_PLACE) {                               \
    return ::torchport::cuda::reduce<TYPE>(mask, value, TORCHPORT_SITE(#NAME),                 \
                                           [](TYPE a, TYPE b) -> TYPE { return EXPRESSION; }); \
  }
TORCHPORT_REDUCE(__reduce_add_sync, unsigned, a + b)
TORCHPORT_REDUCE(__reduce_add_sync, int,
                 static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
TORCHPORT_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
TORCHPORT_REDUCE(__reduce_min_sync, int, a < b ? a : b)
TORCHPORT_REDUCE(__reduce_max_sync, unsigned, a > b ? a : b)
TORCHPORT_REDUCE(__reduce_max_sync, int, a > b ? a : b)
TORCHPORT_REDUCE(__reduce_and_sync, unsigned, a& b)
TORCHPORT_REDUCE(__reduce_or_sync, unsigned, a | b)
TORCHPORT_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
#undef TORCHPORT_REDUCE

inline void __syncthreads(TORCHPORT_PLACE) {
  ::torchport::cuda::wait_for_block(TORCHPORT_SITE("__syncthreads"));
}
