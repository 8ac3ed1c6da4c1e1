#include "cuda/check/findings.h"

#include <cstdio>
#include <string_view>

#include <fmt/format.h>

namespace torchport::cuda::check {

namespace {

constexpr std::size_t kMostPrinted = 100;

constexpr std::array<std::string_view, kCauses> kNames{
    "out of bounds", "use after free",
    "misaligned",    "uninitialised shared memory",
    "race",          "barrier in divergent code",
    "warp function", "leak",
    "out of range"};

std::string_view name_of(Cause cause) {
  return kNames[static_cast<std::size_t>(cause)];
}

}  // namespace

bool Findings::is_new(Cause cause, std::uintptr_t place, std::uintptr_t other) {
  const std::scoped_lock lock(mutex_);
  const bool is_new = ++times_[{cause, place, other}] == 1;
  if (is_new) ++counts_[static_cast<std::size_t>(cause)];
  return is_new;
}

void Findings::print(Cause cause, const std::string& text) {
  {
    const std::scoped_lock lock(mutex_);
    if (++printed_ > kMostPrinted) return;
  }
  fmt::print(stderr, "torchport: {}: {}\n", name_of(cause), text);
}

std::size_t Findings::count() const {
  const std::scoped_lock lock(mutex_);
  std::size_t all = 0;
  for (const std::size_t one : counts_) all += one;
  return all;
}

namespace {

std::string times(std::uint64_t launches) {
  return fmt::format("{} launch{}", launches, launches == 1 ? "" : "es");
}

}  // namespace

std::string Findings::summary(const Launches& launches) const {
  const std::scoped_lock lock(mutex_);
  std::string parts;
  std::size_t all = 0;
  for (std::size_t i = 0; i < kCauses; ++i) {
    all += counts_[i];
    if (counts_[i] != 0)
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", counts_[i], kNames[i]);
  }
  std::string text;
  if (launches.checked > 0 || all > 0) {
    text = fmt::format("torchport: kernels were checked in {}: ", times(launches.checked));
    text += all == 0 ? std::string("nothing was found\n")
                     : fmt::format("{} finding{} ({})\n", all, all == 1 ? "" : "s", parts);
  }
  if (launches.unchecked > 0)
    text += fmt::format("torchport: {}kernels were not checked in {}\n",
                        launches.checked == 0 ? "" : "other ", times(launches.unchecked));
  if (printed_ > kMostPrinted)
    text += fmt::format("torchport: the first {} are shown\n", kMostPrinted);
  return text;
}

}  // namespace torchport::cuda::check
