#include "runtime/proof/alignment.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "base/text.h"

namespace torchport::proof {

namespace {

constexpr std::size_t kAgain = 3;  // so many pairs in a row end a stretch

// Operators that compute the same results, each on its own kind of devices.
bool are_one(std::string_view a, std::string_view b) {
  static constexpr auto kGroups = std::to_array<std::array<std::string_view, 4>>({
      {"aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::miopen_batch_norm", ""},
      {"aten::native_batch_norm_backward", "aten::cudnn_batch_norm_backward",
       "aten::miopen_batch_norm_backward", ""},
      {"aten::convolution", "aten::cudnn_convolution", "aten::miopen_convolution",
       "aten::mkldnn_convolution"},
  });
  return std::any_of(kGroups.begin(), kGroups.end(), [&](const auto& group) {
    return base::one_of(group, a) && base::one_of(group, b);
  });
}

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

// Operators that only lay out what others read.
bool lays_out(std::string_view name) {
  return name == "aten::_cudnn_rnn_flatten_weight" || name == "aten::_cudnn_init_dropout_state";
}

// Recurrent layers have one operator for all their gradients on a device, and many on another.
bool is_of_a_recurrent_layer(std::string_view name) {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"aten::_cudnn_rnn_backward", "aten::miopen_rnn_backward", "aten::lstm_mps_backward",
       "aten::mkldnn_rnn_layer_backward", "aten::_thnn_fused_lstm_cell_backward",
       "aten::_thnn_fused_gru_cell_backward"});
  return base::one_of(kNames, name);
}

// Whether a call is one that torch.amp.GradScaler makes, of those that are not the optimizer's.
bool is_of_scaler(const TracedCall& call) {
  if (call.name.starts_with("aten::_amp_")) return true;
  const bool by_name =
      call.name == "aten::full" || call.name == "aten::mul" || call.name == "aten::reciprocal";
  static constexpr auto kShapes =
      std::to_array<std::string_view>({"Float[]", "Double[]", "Int[]", "Float[1]"});
  return by_name && call.values.size() == 1 && base::one_of(kShapes, call.values[0].shape);
}

bool scales_gradients(const std::vector<TracedCall>& calls) {
  return std::any_of(calls.begin(), calls.end(), [](const TracedCall& call) {
    return call.name == "aten::_amp_update_scale_";
  });
}

// The type of 16 bits or of 32 that a value has, which autocast chooses.
bool is_of_autocast(const TracedValue& value) {
  return value.shape.starts_with("Half[") || value.shape.starts_with("BFloat16[") ||
         value.shape.starts_with("Float[");
}

class Aligner {
 public:
  Aligner(const Trace& a, const Trace& b)
      : a_(a.calls()),
        b_(b.calls()),
        a_scales_(scales_gradients(a_)),
        b_scales_(scales_gradients(b_)) {}

  Alignment align() {
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a_.size() || j < b_.size()) {
      if (pairs(i, j)) {
        take(a_[i++], b_[j++]);
        continue;
      }
      if (goes_past_one(i, j) || goes_past_recurrent_layer(i, j)) continue;
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
    result_.tolerance = std::max(tolerance_of("Float["), carried_);
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
    if (!same_name && (x.name == kStep || y.name == kStep)) return false;
    // The first of its results is that of one parameter.
    if (!same_name && (takes_all(x.name) || takes_all(y.name))) return false;
    for (std::size_t k = 0; k < compared_results(x, y); ++k) {
      if (!are_alike(x.values[k], y.values[k])) return false;
    }
    return true;
  }

  // Of two operators, the first result is what the program goes on with. Batch normalization has
  // three, and of cuDNN's a fourth for itself.
  static std::size_t compared_results(const TracedCall& x, const TracedCall& y) {
    if (x.name == y.name) return x.values.size();
    if (!are_one(x.name, y.name)) return 1;
    return std::min({x.values.size(), y.values.size(), std::size_t{3}});
  }

  [[nodiscard]] bool are_alike(const TracedValue& p, const TracedValue& q) const {
    double tolerance = 0;
    if (p.shape == q.shape) {
      tolerance = tolerance_of(p.shape);
      if (tolerance != 0) tolerance = std::max(tolerance, carried_);
    } else {
      // Autocast takes another type of 16 bits on another device, and there some operators are
      // among those that it computes with 32.
      const bool both = is_of_16_bits(p) && is_of_16_bits(q);
      const bool one = carried_ > 0 && (is_of_16_bits(p) || is_of_16_bits(q));
      if (!(both || one) || !is_of_autocast(p) || !is_of_autocast(q) || sizes_of(p) != sizes_of(q))
        return false;
      tolerance = std::max({tolerance_of(p.shape), tolerance_of(q.shape), carried_});
    }
    return deviation(p, q) <= tolerance;
  }

  // Of gradients that only one of them scales, without the scale.
  [[nodiscard]] double deviation(const TracedValue& p, const TracedValue& q) const {
    const double plain = deviation_of(p, q);
    if (scale_ == 1 || tolerance_of(p.shape) == 0 || p.shape.starts_with("Update[")) return plain;
    TracedValue scaled = a_scales_ ? q : p;
    scaled.checksum = {};
    scaled.mean *= scale_;
    scaled.mean_abs *= scale_;
    return std::min(plain, deviation_of(scaled, a_scales_ ? p : q));
  }

  // Goes past a call of one of them that has no pair: a scaler of gradients that is off on the
  // other device, and what only lays out memory.
  bool goes_past_one(std::size_t& i, std::size_t& j) {
    if (i < a_.size() && lays_out(a_[i].name)) {
      ++i;
      return true;
    }
    if (j < b_.size() && lays_out(b_[j].name)) {
      ++j;
      return true;
    }
    if (a_scales_ == b_scales_) return false;
    std::size_t& at = a_scales_ ? i : j;
    const Calls& calls = a_scales_ ? a_ : b_;
    if (at >= calls.size() || !is_of_scaler(calls[at])) return false;
    const TracedCall& call = calls[at++];
    const bool sets_scale = call.name == "aten::full" || call.name == "aten::_amp_update_scale_";
    if (sets_scale && call.values[0].mean > 1) scale_ = call.values[0].mean;
    ++result_.scaler;
    return true;
  }

  bool goes_past_recurrent_layer(std::size_t& i, std::size_t& j) {
    if (i >= a_.size() || j >= b_.size()) return false;
    if (is_of_a_recurrent_layer(a_[i].name)) {
      if (const auto end = end_of_layer(
              a_[i], b_, j, [&](std::size_t k) { return agree_after_layer(i + 1, k); })) {
        ++i;
        j = *end;
        return true;
      }
    }
    if (!is_of_a_recurrent_layer(b_[j].name)) return false;
    const auto end =
        end_of_layer(b_[j], a_, i, [&](std::size_t k) { return agree_after_layer(k, j + 1); });
    if (!end) return false;
    i = *end;
    ++j;
    return true;
  }

  // What follows the gradients of a layer may soon be an optimizer, whose own calls need no pair.
  [[nodiscard]] bool agree_after_layer(std::size_t i, std::size_t j) const {
    std::size_t k = 0;
    while (i + k < a_.size() && j + k < b_.size() && pairs(i + k, j + k)) {
      if (a_[i + k].name == kStep) return true;
      ++k;
      if (k == kAgain) return true;
    }
    return i + k < a_.size() && j + k < b_.size() && is_of_optimizer(a_[i + k].name) &&
           is_of_optimizer(b_[j + k].name) && k > 0;
  }

  // Where the calls end that compute what `whole` does; none if its first result is not among
  // theirs, or nothing agrees afterwards.
  template <class Agree>
  std::optional<std::size_t> end_of_layer(const TracedCall& whole, const Calls& calls,
                                          std::size_t from, Agree agree) {
    constexpr std::size_t kMost = 1U << 16U;
    bool found = whole.values.empty() || whole.values[0].checksum.empty();
    for (std::size_t k = from; k < calls.size() && k - from < kMost; ++k) {
      for (const TracedValue& value : calls[k].values)
        found = found || are_alike(value, whole.values[0]) ||
                (value.mean_abs != 0 && same_numbers(value, whole.values[0]));
      if (!found || !agree(k + 1)) continue;
      ++result_.compared;
      ++result_.renamed;
      return k + 1;
    }
    return std::nullopt;
  }

  // Of another layout: the batch first, or the steps.
  static bool same_numbers(const TracedValue& p, const TracedValue& q) {
    const auto type = [](const TracedValue& one) {
      return one.shape.substr(0, one.shape.find('['));
    };
    return type(p) == type(q) && deviation_of(p, q) <= tolerance_of(p.shape);
  }

  static bool is_of_16_bits(const TracedValue& value) {
    return value.shape.starts_with("Half[") || value.shape.starts_with("BFloat16[");
  }

  static std::string_view sizes_of(const TracedValue& value) {
    return value.shape.substr(value.shape.find('['));
  }

  void take(const TracedCall& x, const TracedCall& y) {
    if (x.name == kStep) {
      ++result_.steps;
    } else {
      ++result_.compared;
    }
    result_.renamed += x.name == y.name ? 0 : 1;
    for (std::size_t k = 0; k < compared_results(x, y); ++k) {
      const TracedValue& p = x.values[k];
      const TracedValue& q = y.values[k];
      if (p.checksum == q.checksum && p.shape == q.shape) continue;
      result_.equal_bits = false;
      if (p.shape.starts_with("Update[")) continue;
      result_.deviation = std::max(result_.deviation, deviation(p, q));
      // What is computed from numbers of 16 bits is as coarse as they are.
      if (p.shape != q.shape)
        carried_ = std::max({carried_, tolerance_of(p.shape), tolerance_of(q.shape)});
    }
  }

  static std::size_t end_of_stretch(const Calls& calls, std::size_t from) {
    std::size_t end = from;
    while (end < calls.size() && is_of_optimizer(calls[end].name)) ++end;
    return end;
  }

  // At the ends nothing agrees: nobody has read what was computed last.
  [[nodiscard]] bool agree_from(std::size_t i, std::size_t j) const {
    for (std::size_t k = 0; k < kAgain; ++k) {
      if (i + k == a_.size() && j + k == b_.size()) return k > 0;
      if (!pairs(i + k, j + k)) return false;
      if (a_[i + k].name == kStep) return true;  // all parameters are the same
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
  const bool a_scales_;
  const bool b_scales_;
  double scale_ = 1;  // of the gradients of the one that scales them
  Alignment result_;
  double carried_ = 0;  // the tolerance of the coarsest type whose results were not the same
};

// The steps of an optimizer.
struct Steps {
  std::size_t count = 0;
  const TracedCall* last = nullptr;
};

// By the shapes of the parameters, which tell the optimizers of a program apart.
std::map<std::string, Steps> steps_of(const Trace& trace) {
  std::map<std::string, Steps> all;
  for (const TracedCall& call : trace.calls()) {
    if (call.name != kStep) continue;
    std::string shapes;
    for (const TracedValue& value : call.values) shapes.append(value.shape).append(" ");
    Steps& steps = all[shapes];
    ++steps.count;
    steps.last = &call;
  }
  return all;
}

}  // namespace

Alignment align(const Trace& a, const Trace& b) {
  return Aligner(a, b).align();
}

bool end_alike(const Trace& a, const Trace& b, double tolerance) {
  const auto first = steps_of(a);
  const auto second = steps_of(b);
  if (first.size() != second.size()) return false;
  for (const auto& [shapes, steps] : first) {
    const auto found = second.find(shapes);
    if (found == second.end() || found->second.count != steps.count) return false;
    const auto& p = steps.last->values;
    const auto& q = found->second.last->values;
    for (std::size_t k = 0; k < p.size(); ++k) {
      const double own = tolerance_of(p[k].shape);
      if (deviation_of(p[k], q[k]) > (own == 0 ? 0 : std::max(own, tolerance))) return false;
    }
  }
  return true;
}

}  // namespace torchport::proof
