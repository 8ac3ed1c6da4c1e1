#include "versions/requirement.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "versions/version.h"

namespace torchport::versions {

namespace {

bool is_name_char(char c) {
  return base::is_identifier_char(c) || c == '-' || c == '.';
}

struct Clause {
  std::string_view sign;
  std::string_view version;
};

std::optional<Clause> parse_clause(std::string_view text) {
  for (const std::string_view sign : {"===", "==", "!=", ">=", "<=", "~=", ">", "<", "^", "~"}) {
    if (!text.starts_with(sign)) continue;
    const std::string_view version = base::trim(text.substr(sign.size()));
    if (parse_version(version).empty()) return std::nullopt;
    return Clause{sign, version};
  }
  return std::nullopt;
}

// Whether `version` begins with the first `count` numbers of `prefix`.
bool same_start(std::string_view version, const std::vector<int>& prefix, std::size_t count) {
  const auto numbers = parse_version(version);
  for (std::size_t i = 0; i < count && i < prefix.size(); ++i)
    if ((i < numbers.size() ? numbers[i] : 0) != prefix[i]) return false;
  return true;
}

bool holds(const Clause& clause, std::string_view version) {
  const auto& [sign, wanted] = clause;
  const auto numbers = parse_version(wanted);
  const bool at_least = !older(version, wanted);
  if (wanted.ends_with(".*")) {
    const bool matches = same_start(version, numbers, numbers.size());
    return sign == "!=" ? !matches : matches;
  }
  if (sign == "==" || sign == "===") return equal(version, wanted);
  if (sign == "!=") return !equal(version, wanted);
  if (sign == ">=") return at_least;
  if (sign == "<=") return !older(wanted, version);
  if (sign == ">") return older(wanted, version);
  if (sign == "<") return !at_least;
  if (sign == "~=") return at_least && same_start(version, numbers, numbers.size() - 1);
  // In Poetry "^2.1" means up to the next major version, "~2.1" up to the next minor one.
  return at_least && same_start(version, numbers, sign == "^" ? 1 : 2);
}

}  // namespace

std::string_view written_name(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_name_char(text[end])) ++end;
  return text.substr(0, end);
}

std::string normalised_name(std::string_view name) {
  std::string text = base::lower(name);
  std::replace(text.begin(), text.end(), '_', '-');
  std::replace(text.begin(), text.end(), '.', '-');
  return text;
}

std::optional<Requirement> parse_requirement(std::string_view text) {
  text = base::trim(text.substr(0, text.find(';')));
  const std::string_view written = written_name(text);
  if (written.empty() || written.front() == '-' || written.front() == '.') return std::nullopt;
  Requirement requirement;
  requirement.name = normalised_name(written);
  std::string_view rest = base::trim(text.substr(written.size()));
  if (rest.starts_with('[')) {
    const auto close = rest.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    rest = base::trim(rest.substr(close + 1));
  }
  if (rest.starts_with('(') && rest.ends_with(')')) rest = rest.substr(1, rest.size() - 2);
  // Removes options of one requirement: " --hash=sha256:...".
  rest = base::trim(rest.substr(0, rest.find(" --")));
  if (rest.starts_with('@')) return requirement;  // a URL: its version is unknown
  for (const std::string_view part : base::split(rest, ','))
    if (!base::trim(part).empty() && !parse_clause(base::trim(part))) return std::nullopt;
  for (const char c : rest)
    if (c != ' ') requirement.specifier += c;
  return requirement;
}

std::optional<bool> allows(std::string_view specifier, std::string_view version) {
  for (const std::string_view part : base::split(specifier, ',')) {
    const std::string_view text = base::trim(part);
    if (text.empty() || text == "*") continue;
    const auto clause = parse_clause(text);
    if (!clause) return std::nullopt;
    if (!holds(*clause, version)) return false;
  }
  return true;
}

std::string pinned(std::string_view specifier) {
  for (const std::string_view part : base::split(specifier, ',')) {
    const auto clause = parse_clause(base::trim(part));
    if (clause && clause->sign.starts_with("==") && !clause->version.ends_with('*'))
      return std::string(clause->version);
  }
  return {};
}

std::string lower_bound(std::string_view specifier) {
  std::string_view floor;
  for (const std::string_view part : base::split(specifier, ',')) {
    const auto clause = parse_clause(base::trim(part));
    if (!clause || clause->sign == "!=" || clause->sign.starts_with('<')) continue;
    if (floor.empty() || older(floor, clause->version)) floor = clause->version;
  }
  return std::string(floor);
}

}  // namespace torchport::versions
