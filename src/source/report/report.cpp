#include "source/report/report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "source/syntax/encoding.h"

namespace torchport::report {

namespace {

std::vector<Format>& mutable_formats() {
  static std::vector<Format> formats;
  return formats;
}

}  // namespace

FormatRegistration::FormatRegistration(Format format) {
  auto& formats = mutable_formats();
  const auto place = std::lower_bound(
      formats.begin(), formats.end(), format.name,
      [](const Format& other, std::string_view name) { return other.name < name; });
  formats.insert(place, format);
}

const std::vector<Format>& all_formats() {
  return mutable_formats();
}

const Format* find_format(std::string_view name) {
  const auto& formats = all_formats();
  const auto found =
      std::find_if(formats.begin(), formats.end(), [&](const Format& f) { return f.name == name; });
  return found == formats.end() ? nullptr : &*found;
}

std::vector<std::pair<std::string_view, std::size_t>> count_by_code(
    const project::CheckReport& report) {
  std::map<std::string_view, std::size_t> counts;
  for (const auto& d : report.diagnostics) ++counts[d.code];
  return {counts.begin(), counts.end()};
}

std::string counted(std::size_t n, std::string_view singular, std::string_view plural) {
  if (n == 1) return fmt::format("1 {}", singular);
  return plural.empty() ? fmt::format("{} {}s", n, singular) : fmt::format("{} {}", n, plural);
}

std::string left_out(const Input& input) {
  std::string text;
  if (input.known > 0)
    text += fmt::format("{} of the baseline not shown.\n", counted(input.known, "finding"));
  if (input.outside > 0)
    text += fmt::format("{} outside of the change since {} {} not shown.\n",
                        counted(input.outside, "finding"), one_line(input.since),
                        input.outside == 1 ? "is" : "are");
  return text;
}

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

std::string printable(std::string_view text) {
  std::string valid;
  std::size_t bad = 0;
  while (!syntax::is_valid_utf8(text, bad)) {
    valid += text.substr(0, bad);
    valid += kReplacement;
    text.remove_prefix(bad + 1);
  }
  valid += text;
  std::string result;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < valid.size();) {
    const std::size_t length = base::control_at(valid, at);
    if (length == 0) {
      ++at;
      continue;
    }
    result.append(valid, copied, at - copied).append(kReplacement);
    copied = at += length;
  }
  return result.append(valid, copied);
}

std::string one_line(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    if (c == '\n' || c == '\t') {
      result += kReplacement;
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace torchport::report
