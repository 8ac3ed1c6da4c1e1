#include "versions/version.h"

#include <algorithm>
#include <charconv>

namespace torchport::versions {

namespace {

int at(const std::vector<int>& numbers, std::size_t index) {
  return index < numbers.size() ? numbers[index] : 0;
}

}  // namespace

std::vector<int> parse_version(std::string_view text) {
  std::vector<int> numbers;
  while (!text.empty() && text.front() != '-') {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) break;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.starts_with('.')) break;
    text.remove_prefix(1);
  }
  return numbers;
}

bool older(std::string_view a, std::string_view b) {
  const auto first = parse_version(a);
  const auto second = parse_version(b);
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i)
    if (at(first, i) != at(second, i)) return at(first, i) < at(second, i);
  return false;
}

bool equal(std::string_view a, std::string_view b) {
  return !older(a, b) && !older(b, a);
}

bool same_major(std::string_view a, std::string_view b) {
  return at(parse_version(a), 0) == at(parse_version(b), 0);
}

bool same_minor(std::string_view a, std::string_view b) {
  return same_major(a, b) && at(parse_version(a), 1) == at(parse_version(b), 1);
}

std::string without_local(std::string_view version) {
  return std::string(version.substr(0, version.find('+')));
}

std::string local_of(std::string_view version) {
  const auto plus = version.find('+');
  return plus == std::string_view::npos ? std::string() : std::string(version.substr(plus + 1));
}

}  // namespace torchport::versions
