#include "cuda/source/shifts.h"

#include <array>
#include <string>

#include <fmt/format.h>

namespace torchport::cuda {

namespace {

constexpr std::string_view kMarker = "::torchport::kShift";

}  // namespace

std::size_t Shifts::shift(std::size_t i) {
  const std::string_view mark = word(i);
  std::size_t end = i + 2;
  while (is(end, mark) && joined(end - 1, 2)) ++end;
  if (end > i + 2 || is(i - 1, "operator") || is(i - 1, ".") || is(end, ".")) return end;
  if (mark == ">" && closes_templates(i)) return end;
  if (is(end, "=") && joined(i, 3)) {
    // A bit-field, which is a member, cannot be passed to a function that changes it.
    const bool is_variable = (is_name(i - 1) && !is_member(i - 1)) || is(i - 1, "]");
    if (is_variable && !is_small(end + 1))
      edits_.insert(tokens_[end].end, fmt::format(" {} =", kMarker));
    return end + 1;
  }
  if (!is_small(end) && !is_of_stream(i))
    edits_.insert(tokens_[i + 1].end, fmt::format(" {} {}{}", kMarker, mark, mark));
  return end;
}

bool Shifts::is_small(std::size_t amount) const {
  constexpr std::size_t kLongest = 2;
  if (amount >= tokens_.size() || tokens_[amount].kind != TokenKind::kNumber) return false;
  const std::string_view number = word(amount);
  if (number.size() > kLongest || number.find_first_not_of("0123456789") != std::string_view::npos)
    return false;
  constexpr int kNarrowest = 32;
  if (std::stoi(std::string(number)) >= kNarrowest) return false;
  static constexpr std::array<std::string_view, 5> kBindMore{"+", "-", "*", "/", "%"};
  return !is_one_of(word(amount + 1), kBindMore);
}

bool Shifts::closes_templates(std::size_t i) const {
  if (i + 2 < tokens_.size() && tokens_[i + 2].kind == TokenKind::kNumber) return false;
  std::size_t closed = 0;
  std::size_t open = 0;
  for (std::size_t at = i; at-- > 0;) {
    const std::string_view it = word(at);
    if (it == ";" || it == "{" || it == "(" || it == "[" || tokens_[at].kind == TokenKind::kLine)
      return false;
    if (it == ")" || it == "]" || it == "}") {
      if (tokens_[at].partner >= at) return false;
      at = tokens_[at].partner;
    } else if (it == ">" && !is(at - 1, "-")) {
      ++closed;
    } else if (it == "<") {
      if (is(at - 1, "<") && joined(at - 1, 2)) {
        --at;  // a shift
        continue;
      }
      const bool compares = (is(at + 1, "=") && joined(at, 2)) || !is_name(at - 1);
      if (compares) continue;
      if (closed > 0)
        --closed;
      else if (++open == 2)
        return true;
    }
  }
  return false;
}

bool Shifts::is_of_stream(std::size_t i) const {
  static constexpr std::array<std::string_view, 5> kWords{"cout", "cerr", "clog", "endl", "os"};
  std::size_t begin = i;
  while (begin > 0 && !is(begin - 1, ";") && !is(begin - 1, "{") && !is(begin - 1, "}")) --begin;
  for (std::size_t at = begin; at < tokens_.size(); ++at) {
    if (at > i && (is(at, ";") || is(at, "{") || is(at, "}"))) return false;
    if (is_name(at) && is_one_of(word(at), kWords)) return true;
    const bool is_text = tokens_[at].kind == TokenKind::kText && word(at).ends_with('"');
    if (is_text && (is(at - 1, "<") || is(at + 1, "<"))) return true;
  }
  return false;
}

}  // namespace torchport::cuda
