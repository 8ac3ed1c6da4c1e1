#include "runtime/proof/output.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/text.h"

namespace torchport::proof {

namespace {

struct Token {
  std::string_view text;
  std::optional<double> number;
};

bool starts_number(std::string_view text, std::size_t at) {
  const auto digit = [&](std::size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  if (at > 0 && base::is_identifier_char(text[at - 1])) return false;
  if (digit(at)) return true;
  return (text[at] == '-' || text[at] == '.') && digit(at + 1);
}

std::vector<Token> tokens_of(std::string_view line) {
  std::vector<Token> tokens;
  std::size_t from = 0;
  for (std::size_t at = 0; at < line.size();) {
    double value = 0;
    const char* start = line.data() + at;
    const auto parsed = starts_number(line, at)
                            ? std::from_chars(start, line.data() + line.size(), value)
                            : std::from_chars_result{start, std::errc::invalid_argument};
    if (parsed.ec != std::errc()) {
      ++at;
      continue;
    }
    if (at > from) tokens.push_back({line.substr(from, at - from), std::nullopt});
    const auto size = static_cast<std::size_t>(parsed.ptr - start);
    tokens.push_back({line.substr(at, size), value});
    at += size;
    from = at;
  }
  if (from < line.size()) tokens.push_back({line.substr(from), std::nullopt});
  return tokens;
}

// Whether the word before or after a number makes it a figure of time or speed.
bool is_time(const std::vector<Token>& tokens, std::size_t number) {
  static constexpr std::array<std::string_view, 12> kUnits{
      "s", "ms", "us", "sec", "secs", "second", "seconds", "min", "it", "img", "samples", "h"};
  if (number + 1 < tokens.size() && !tokens[number + 1].number) {
    std::string_view after = tokens[number + 1].text;
    if (after.starts_with(' ')) after.remove_prefix(1);
    const auto end = std::find_if(after.begin(), after.end(),
                                  [](char c) { return !base::is_identifier_char(c); });
    const std::string unit =
        base::lower(after.substr(0, static_cast<std::size_t>(end - after.begin())));
    if (std::find(kUnits.begin(), kUnits.end(), unit) != kUnits.end()) return true;
    if (after.starts_with(':') && number + 2 < tokens.size() && tokens[number + 2].number)
      return true;  // 0:01:07
  }
  if (number == 0) return false;
  const std::string before = base::lower(tokens[number - 1].text);
  return before.find("time") != std::string::npos || before.find("elapsed") != std::string::npos ||
         before == ":";
}

bool close(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

bool same_line(std::string_view first, std::string_view second, double tolerance) {
  if (first == second) return true;
  const auto a = tokens_of(first);
  const auto b = tokens_of(second);
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].text == b[i].text || (a[i].number && b[i].number && is_time(a, i))) continue;
    if (!a[i].number || !b[i].number || !close(*a[i].number, *b[i].number, tolerance)) return false;
  }
  return true;
}

// Whether a line reports the build of an extension ("[1/3] c++ ..."), which only the first run
// prints.
bool is_of_a_build(std::string_view line) {
  if (line.starts_with("ninja: ")) return true;
  const auto slash = line.find('/');
  const auto close = line.find("] ");
  return line.starts_with('[') && slash != std::string_view::npos &&
         close != std::string_view::npos && slash < close &&
         line.substr(1, close - 1).find_first_not_of("0123456789/") == std::string_view::npos;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines = base::split(text, '\n');
  std::erase_if(lines, is_of_a_build);
  return lines;
}

}  // namespace

std::optional<OutputDifference> compare_output(std::string_view first, std::string_view second,
                                               double tolerance) {
  const auto a = lines_of(first);
  const auto b = lines_of(second);
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string_view x = i < a.size() ? a[i] : std::string_view{};
    const std::string_view y = i < b.size() ? b[i] : std::string_view{};
    if (!same_line(x, y, tolerance)) return OutputDifference{i + 1, std::string(x), std::string(y)};
  }
  return std::nullopt;
}

std::size_t numbers_in(std::string_view output) {
  std::size_t count = 0;
  for (const std::string_view line : lines_of(output)) {
    const auto tokens = tokens_of(line);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      count += tokens[i].number && !is_time(tokens, i) ? 1 : 0;
  }
  return count;
}

}  // namespace torchport::proof
