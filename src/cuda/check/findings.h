// What the checker has found: each cause once, printed when it is found, counted at the end.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

namespace torchport::cuda::check {

enum class Cause : unsigned char {
  kOutOfBounds,
  kUseAfterFree,
  kMisaligned,
  kUninitialised,
  kRace,
  kBarrier,
  kWarp,
  kLeak,
  kArithmetic,
};
inline constexpr std::size_t kCauses = 9;

// How often kernels ran that tell the checker what they do, and kernels that were built without
// that.
struct Launches {
  std::uint64_t checked = 0;
  std::uint64_t unchecked = 0;
};

// Thread safe.
class Findings {
 public:
  // Whether a cause at these places of code is new; counts it in any case.
  bool is_new(Cause cause, std::uintptr_t place, std::uintptr_t other = 0);
  // Prints the text of a new finding to the standard error, if there were not too many before.
  void print(Cause cause, const std::string& text);
  // How many causes were found, and how many of a kind.
  [[nodiscard]] std::size_t count() const;
  // The last lines, for a process that ran so many kernels.
  [[nodiscard]] std::string summary(const Launches& launches) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::tuple<Cause, std::uintptr_t, std::uintptr_t>, std::uint64_t> times_;
  std::array<std::size_t, kCauses> counts_{};
  std::size_t printed_ = 0;
};

}  // namespace torchport::cuda::check
