#include "runtime/proof/alignment.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace torchport::proof {

namespace {

constexpr std::size_t kAgain = 3;           // so many pairs in a row end a stretch
constexpr std::size_t kMostStretch = 4096;  // calls; also bounds what a stretch costs

// Whether an operator takes the tensors of all parameters at once.
bool takes_all(std::string_view name) {
  return name.starts_with("aten::_foreach_") || name.starts_with("aten::_fused_");
}

// What an optimizer computes with, for all parameters at once or for each.
bool is_of_optimizer(std::string_view name) {
  // Also in place.
  static constexpr auto kArithmetic =
      std::to_array<std::string_view>({"add", "sub", "mul", "div", "lerp", "addcmul", "addcdiv",
                                       "sqrt", "neg", "pow", "maximum", "clamp", "reciprocal"});
  static constexpr auto kOthers = std::to_array<std::string_view>(
      {"sign", "abs", "copy_", "fill_", "zero_", "clone", "zeros_like", "ones_like", "empty_like",
       "detach", "linalg_vector_norm", "stack", "norm"});
  if (takes_all(name)) return true;
  if (name.starts_with("aten::")) name.remove_prefix(6);
  if (base::one_of(kOthers, name)) return true;
  if (name.ends_with('_')) name.remove_suffix(1);
  return base::one_of(kArithmetic, name);
}

class Aligner {
 public:
  Aligner(const Trace& a, const Trace& b) : a_(a.calls()), b_(b.calls()) {}

  Alignment align() {
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a_.size() || j < b_.size()) {
      if (pairs(i, j)) {
        take(a_[i++], b_[j++]);
        continue;
      }
      const std::size_t end_a = end_of_stretch(a_, i);
      const std::size_t end_b = end_of_stretch(b_, j);
      // A step that only one of the programs makes is a difference.
      const auto next = end_a > i && end_b > j ? meet_again(i, end_a, j, end_b) : std::nullopt;
      if (!next) {
        result_.parting = {i, j};
        return result_;
      }
      result_.passed += next->first - i + next->second - j;
      i = next->first;
      j = next->second;
    }
    return result_;
  }

 private:
  using Calls = std::vector<TracedCall>;

  [[nodiscard]] bool pairs(std::size_t i, std::size_t j) const {
    if (i >= a_.size() || j >= b_.size()) return false;
    const TracedCall& x = a_[i];
    const TracedCall& y = b_[j];
    const bool same_name = x.name == y.name;
    if (same_name && x.values.size() != y.values.size()) return false;
    if (!same_name && (x.values.empty() || y.values.empty())) return false;
    // The first of its results is that of one parameter.
    if (!same_name && (takes_all(x.name) || takes_all(y.name))) return false;
    // Of two operators, the first result is what the program goes on with.
    const std::size_t count = same_name ? x.values.size() : 1;
    for (std::size_t k = 0; k < count; ++k) {
      const TracedValue& p = x.values[k];
      const TracedValue& q = y.values[k];
      if (p.shape != q.shape || deviation_of(p, q) > tolerance_of(p.shape)) return false;
    }
    return true;
  }

  void take(const TracedCall& x, const TracedCall& y) {
    ++result_.compared;
    result_.renamed += x.name == y.name ? 0 : 1;
    for (std::size_t k = 0; k < std::min(x.values.size(), y.values.size()); ++k) {
      result_.equal_bits &= x.values[k].checksum == y.values[k].checksum;
      if (x.values[k].shape == y.values[k].shape && (k == 0 || x.name == y.name))
        result_.deviation = std::max(result_.deviation, deviation_of(x.values[k], y.values[k]));
    }
  }

  static std::size_t end_of_stretch(const Calls& calls, std::size_t from) {
    std::size_t end = from;
    while (end < calls.size() && end - from < kMostStretch && is_of_optimizer(calls[end].name))
      ++end;
    return end;
  }

  [[nodiscard]] bool agree_from(std::size_t i, std::size_t j) const {
    for (std::size_t k = 0; k < kAgain; ++k) {
      if (i + k == a_.size() && j + k == b_.size()) return true;
      if (!pairs(i + k, j + k)) return false;
    }
    return true;
  }

  // The ends of the stretches first: what follows an optimizer is the next forward.
  [[nodiscard]] std::optional<Parting> meet_again(std::size_t from_a, std::size_t end_a,
                                                  std::size_t from_b, std::size_t end_b) const {
    constexpr std::size_t kNear = 64;
    for (std::size_t back = 0; back < kNear; ++back) {
      for (std::size_t one = 0; one <= back; ++one) {
        const std::size_t two = back - one;
        if (end_a < from_a + one || end_b < from_b + two) continue;
        if (agree_from(end_a - one, end_b - two)) return Parting{end_a - one, end_b - two};
      }
    }
    return std::nullopt;
  }

  const Calls& a_;
  const Calls& b_;
  Alignment result_;
};

}  // namespace

Alignment align(const Trace& a, const Trace& b) {
  return Aligner(a, b).align();
}

}  // namespace torchport::proof
