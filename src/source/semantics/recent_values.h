// A cache of bounded size from a number to a value: each slot keeps the value that came last. A
// value that was driven out is computed again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace torchport::semantics {

// Not thread-safe. Holds no memory until the first value comes. No key is the largest number.
template <class Value>
class RecentValues {
 public:
  // The value of a key, or null if it never came or was driven out. Valid until the next keep().
  [[nodiscard]] const Value* find(std::uint64_t key) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[place(key)];
    return slot.key == key ? &slot.value : nullptr;
  }

  void keep(std::uint64_t key, Value value) {
    if (slots_.empty()) slots_.resize(std::size_t{1} << kBits);
    slots_[place(key)] = {key, std::move(value)};
  }

 private:
  static constexpr unsigned kBits = 14;

  struct Slot {
    std::uint64_t key = std::numeric_limits<std::uint64_t>::max();
    Value value{};
  };

  // Fibonacci hashing: Knuth, The Art of Computer Programming, volume 3, section 6.4.
  static std::size_t place(std::uint64_t key) {
    return static_cast<std::size_t>(key * 0x9E3779B97F4A7C15ULL >> (64U - kBits));
  }

  std::vector<Slot> slots_;
};

}  // namespace torchport::semantics
