#include "runtime/device/philox.h"

namespace torchport::device {

namespace {

// Inlined into a function for each instruction set.
[[gnu::always_inline]] inline void fill_words(PhiloxBatch& batch, const PhiloxPlace& place,
                                              std::uint64_t first, std::uint64_t block,
                                              std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const PhiloxBlock drawn = place.draw(first + i, block);
    for (std::size_t word = 0; word < drawn.size(); ++word) batch.words[word][i] = drawn[word];
  }
}

#if defined(__x86_64__)
// Eight at once instead of the two or four of the instruction set that the library requires.
[[gnu::target("avx2")]] void fill_words_avx2(PhiloxBatch& batch, const PhiloxPlace& place,
                                             std::uint64_t first, std::uint64_t block,
                                             std::size_t count) {
  fill_words(batch, place, first, block, count);
}
#endif

}  // namespace

void PhiloxBatch::fill(const PhiloxPlace& place, std::uint64_t first, std::uint64_t block,
                       std::size_t count) {
#if defined(__x86_64__)
  static const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;
  if (kHasAvx2) {
    fill_words_avx2(*this, place, first, block, count);
    return;
  }
#endif
  fill_words(*this, place, first, block, count);
}

}  // namespace torchport::device
