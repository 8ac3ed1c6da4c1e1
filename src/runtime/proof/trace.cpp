#include "runtime/proof/trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/text.h"

namespace torchport::proof {

namespace {

template <class T>
bool number(std::string_view text, T& value) {
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
}

TracedValue value_of(std::string_view text) {
  TracedValue value;
  const auto parts = base::split(text, ':');
  value.shape = parts[0];
  if (parts.size() == 4) {
    value.checksum = parts[1];
    number(parts[2], value.mean);
    number(parts[3], value.mean_abs);
  }
  return value;
}

bool same_bits(const TracedValue& a, const TracedValue& b) {
  return a.shape == b.shape && a.checksum == b.checksum;
}

template <class Same>
Comparison compare_by(const Trace& a, const Trace& b, Same same) {
  Comparison result;
  const std::size_t both = std::min(a.calls().size(), b.calls().size());
  for (std::size_t i = 0; i < both; ++i) {
    const TracedCall& first = a.calls()[i];
    const TracedCall& second = b.calls()[i];
    bool equal = first.name == second.name && first.values.size() == second.values.size();
    for (std::size_t k = 0; equal && k < first.values.size(); ++k) {
      const TracedValue& x = first.values[k];
      const TracedValue& y = second.values[k];
      result.equal_bits &= same_bits(x, y);
      if (x.shape == y.shape) result.deviation = std::max(result.deviation, deviation_of(x, y));
      equal = same(x, y);
    }
    if (!equal) {
      result.calls = i;
      result.differing = i;
      result.equal_bits = false;
      return result;
    }
  }
  result.calls = both;
  if (a.calls().size() != b.calls().size()) {
    result.differing = both;
    result.equal_bits = false;
  }
  return result;
}

}  // namespace

double deviation_of(const TracedValue& a, const TracedValue& b) {
  if (a.checksum == b.checksum) return 0;
  if (!std::isfinite(a.mean_abs) || !std::isfinite(b.mean_abs)) {
    const bool alike = std::isnan(a.mean_abs) ? std::isnan(b.mean_abs) : a.mean_abs == b.mean_abs;
    return alike ? 0 : std::numeric_limits<double>::infinity();
  }
  const double scale = std::max({std::abs(a.mean_abs), std::abs(b.mean_abs), 1e-12});
  return std::max(std::abs(a.mean - b.mean), std::abs(a.mean_abs - b.mean_abs)) / scale;
}

base::Result<Trace> Trace::read(const base::FileSystem& files, const std::string& path) {
  Trace trace;
  for (const std::string& name : {path, path + ".lines"}) {
    auto text = files.read(name);
    if (!text) return tl::unexpected<base::Error>(text.error());
    trace.texts_.push_back(std::move(*text));
  }
  trace.lines_ = base::split(trace.texts_[1], '\n');
  for (const std::string_view line : base::split(trace.texts_[0], '\n')) {
    if (line.empty()) continue;
    const auto parts = base::split(line, '\t');
    if (parts[0] == "#device" && parts.size() == 2) {
      trace.devices_.push_back(parts[1]);
      continue;
    }
    TracedCall call;
    call.name = parts[0];
    if (parts.size() < 3 || !number(parts[1], call.line))
      return base::fail(base::ErrorCode::kSyntax, fmt::format("{} is not a trace", path));
    for (std::size_t i = 2; i < parts.size(); ++i) call.values.push_back(value_of(parts[i]));
    trace.calls_.push_back(std::move(call));
  }
  return trace;
}

std::size_t Trace::operators() const {
  return static_cast<std::size_t>(std::count_if(
      calls_.begin(), calls_.end(), [](const TracedCall& call) { return call.name != kStep; }));
}

bool Trace::computed_on(std::string_view kind) const {
  return base::one_of(devices_, kind);
}

double Trace::coarsest_tolerance() const {
  double coarsest = tolerance_of("Float[");
  for (const TracedCall& call : calls_) {
    if (call.name == kStep) continue;
    for (const TracedValue& value : call.values)
      coarsest = std::max(coarsest, tolerance_of(value.shape));
  }
  return coarsest;
}

std::string_view Trace::line_of(const TracedCall& call) const {
  return call.line < lines_.size() ? lines_[call.line] : std::string_view{};
}

Comparison compare(const Trace& a, const Trace& b) {
  return compare_by(a, b, same_bits);
}

double tolerance_of(std::string_view shape) {
  const std::string_view type = shape.substr(0, shape.find('['));
  if (type == "Double" || type == "ComplexDouble") return 1.5e-8;
  if (type == "Float" || type == "ComplexFloat") return 3.5e-4;
  if (type == "Half" || type == "ComplexHalf") return 3.2e-2;
  if (type == "BFloat16") return 8.9e-2;
  if (type == "Update") return 2e-2;
  return type.starts_with("Float8") ? 0.35 : 0;
}

}  // namespace torchport::proof
