#include "runtime/proof/files.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "base/file_system.h"
#include "runtime/proof/output.h"
#include "runtime/proof/tensor_values.h"
#include "runtime/proof/trace.h"

namespace torchport::proof {

namespace {

FileComparison different(std::string words) {
  return {FilesAre::kDifferent, std::move(words)};
}

bool is_text(std::string_view content) {
  return content.find('\0') == std::string_view::npos &&
         std::none_of(content.begin(), content.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
         });
}

double tolerance_of_dtype(std::string_view dtype, double at_least) {
  double own = 0;
  if (dtype == "float64") own = tolerance_of("Double[");
  if (dtype == "float32") own = tolerance_of("Float[");
  if (dtype == "float16") own = tolerance_of("Half[");
  if (dtype == "bfloat16") own = tolerance_of("BFloat16[");
  return own == 0 ? 0 : std::max(own, at_least);
}

// The sum of all differences, relative to the sum of the numbers. Infinite if a NaN or an infinity
// stands in one of them alone.
double deviation_of(const std::vector<double>& a, const std::vector<double>& b) {
  double differences = 0;
  double sizes = 1e-30;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) {
      if (std::isfinite(a[i])) sizes += std::abs(a[i]);
      continue;
    }
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return HUGE_VAL;
    differences += std::abs(a[i] - b[i]);
    sizes += std::max(std::abs(a[i]), std::abs(b[i]));
  }
  return differences / sizes;
}

FileComparison compare_values(const StoredValues& first, const StoredValues& second,
                              double tolerance) {
  for (const auto& [name, b] : second.tensors) {
    if (!first.tensors.contains(name)) return different(fmt::format("has {} only there", name));
  }
  std::string unread;
  for (const auto& [name, a] : first.tensors) {
    const auto found = second.tensors.find(name);
    if (found == second.tensors.end()) return different(fmt::format("has no {} there", name));
    const StoredTensor& b = found->second;
    if (a.dtype != b.dtype || a.shape != b.shape)
      return different(fmt::format("differs: {} has another type or shape", name));
    if (!a.numbers || !b.numbers || a.numbers->size() != b.numbers->size()) {
      unread = name;
      continue;
    }
    const double deviation = deviation_of(*a.numbers, *b.numbers);
    const double allowed = tolerance_of_dtype(a.dtype, tolerance);
    if (deviation > allowed)
      return different(
          fmt::format("differs: {} by {:.2g}, where {:.2g} is allowed", name, deviation, allowed));
  }
  if (const auto line = compare_output(first.others, second.others, tolerance))
    return different(fmt::format("differs: \"{}\" instead of \"{}\"", line->second, line->first));
  if (!unread.empty())
    return {FilesAre::kNotComparable,
            fmt::format("cannot be compared: the numbers of {} cannot be read", unread)};
  return {};
}

}  // namespace

FileComparison compare_files(const std::string& first, const std::string& second,
                             double tolerance) {
  const base::FileSystem& files = base::real_file_system();
  const auto a = files.read(first);
  const auto b = files.read(second);
  if (!a) return different("is missing from the first run");
  if (!b) return different("is missing from the second run");
  if (*a == *b) return {};
  if (is_text(*a) && is_text(*b)) {
    const auto line = compare_output(*a, *b, tolerance);
    if (!line) return {};
    return different(fmt::format("differs at line {}: \"{}\" instead of \"{}\"", line->line,
                                 line->second, line->first));
  }
  const auto stored_a = stored_values(first);
  const auto stored_b = stored_values(second);
  if (stored_a && stored_b) return compare_values(*stored_a, *stored_b, tolerance);
  return {FilesAre::kNotComparable,
          "cannot be compared: it is neither text, nor a checkpoint, nor an array, and its bytes "
          "differ"};
}

}  // namespace torchport::proof
