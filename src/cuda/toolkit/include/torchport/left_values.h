// What the threads of a block leave for the lanes of their warps at the end of a phase, and take in
// the next one. See cuda/source/phases.h.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "torchport/kernel.h"
#include "torchport/warp_functions.h"

namespace torchport::cuda {

// The value of each thread, by its number in the block. What no thread left is zero; threads that
// the block does not have give the reader's own value.
template <class T, std::size_t Count>
class Left {
 public:
  using Value = Shuffled<T>;

  explicit Left(unsigned threads) : threads_(threads) {
    std::memset(static_cast<void*>(&values_[0]), 0, threads * sizeof(Value));
  }
  void leave(std::size_t thread, T value) { values_[thread] = value; }

  // As the functions of the same name, which all lanes call; so the mask says nothing.
  Value take_shfl(std::size_t thread, unsigned /*mask*/, int lane, int width = 32) {
    return take(Shuffle::kIndex, thread, static_cast<unsigned>(lane), width);
  }
  Value take_shfl_up(std::size_t thread, unsigned /*mask*/, unsigned delta, int width = 32) {
    return take(Shuffle::kUp, thread, delta, width);
  }
  Value take_shfl_down(std::size_t thread, unsigned /*mask*/, unsigned delta, int width = 32) {
    return take(Shuffle::kDown, thread, delta, width);
  }
  Value take_shfl_xor(std::size_t thread, unsigned /*mask*/, int bits, int width = 32) {
    return take(Shuffle::kXor, thread, static_cast<unsigned>(bits), width);
  }

 private:
  Value take(Shuffle form, std::size_t thread, unsigned b, int width) {
    const auto lane = static_cast<unsigned>(thread % 32);
    const unsigned segments = 32U - static_cast<unsigned>(width);
    const Source source =
        source_lane(form, lane, b & 31U, form == Shuffle::kUp ? 0U : 31U, segments & 31U);
    const std::size_t from = thread - lane + source.lane;
    return values_[from < threads_ ? from : thread];
  }

  Kept<Value, Count> values_;
  unsigned threads_;
};

// Whether a loop's number of type Index, which has come to `at`, is below the bound.
template <class Index, class Bound>
bool is_below(long long at, Bound bound) {
  // A negative number is a large one if they are compared as unsigned ones.
  if (std::is_unsigned<decltype(Index{} + bound)>::value)
    return at >= 0 && static_cast<unsigned long long>(at) < static_cast<unsigned long long>(bound);
  return at < static_cast<long long>(bound);
}

// How many of the first `threads` numbers have to be looked at for those that are below the bound
// as numbers of type Index.
template <class Index, class Bound>
unsigned threads_below(unsigned threads, Bound bound) {
  if (static_cast<Index>(threads - 1) < bound) return threads;
  if (!(static_cast<Index>(0) < bound)) return 0;
  const auto whole = static_cast<unsigned>(bound);  // a constant may be no integer
  return static_cast<Index>(whole) < bound ? whole + 1 : whole;
}

}  // namespace torchport::cuda
