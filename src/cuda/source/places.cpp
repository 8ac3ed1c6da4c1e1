#include "cuda/source/places.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace torchport::cuda {

std::string_view asked_by(std::string_view name) {
  if (name == "threadIdx") return "thread_index()";
  if (name == "blockIdx") return "block_index()";
  if (name == "blockDim") return "block_size()";
  if (name == "gridDim") return "grid_size()";
  return {};
}

void Places::place(std::size_t i, std::string_view function) {
  std::size_t begin = i;
  if (is(i - 1, ":") && is(i - 2, ":")) begin = i - 2;
  if (begin == i && is_declared(i)) {
    declared_.push_back(seen_by(i));
    return;
  }
  if (is_other(i) || (begin == i && is_hidden(i))) return;
  const bool in_kernel = i < code_.kernel_end && !is_inside_other(i);
  if (in_kernel && begin == i) return;
  edits_.replace(tokens_[begin].begin, tokens_[i].end, fmt::format("({}{})", kPrefix, function));
}

void Places::enter_kernel(std::size_t begin, std::size_t end) {
  others_.clear();
  for (std::size_t i = begin; i < end; ++i) {
    if (is(i, "[") && is_closed(i) && i > begin) {
      const std::size_t close = tokens_[i].partner;
      const bool is_lambda = !(tokens_[i - 1].kind == TokenKind::kName && !is(i - 1, "return")) &&
                             !is(i - 1, ")") && !is(i - 1, "]") && !is(i - 1, ">") &&
                             !is(i - 1, "[") && !is(i + 1, "[");
      if (!is_lambda) continue;
      const bool by_default =
          (is(i + 1, "&") || is(i + 1, "=")) && (close == i + 2 || is(i + 2, ","));
      std::size_t body = close + 1;
      while (body < end && !is(body, "{") && !is(body, ";")) {
        body = is_closed(body) ? tokens_[body].partner + 1 : body + 1;
      }
      if (is(body, "{") && is_closed(body) && !by_default)
        others_.push_back({i, tokens_[body].partner});
    } else if ((is(i, "struct") || is(i, "class") || is(i, "union")) && i + 2 < end) {
      std::size_t body = i + 1;
      while (body < end && !is(body, "{") && !is(body, ";") && !is(body, ")")) ++body;
      if (is(body, "{") && is_closed(body)) others_.push_back({body, tokens_[body].partner});
    }
  }
}

bool Places::is_other(std::size_t i) const {
  if (is_member(i)) return true;
  if (is(i + 1, ".")) return false;
  static constexpr std::array<std::string_view, 6> kBefore{"return", "else",     "case",
                                                           "throw",  "co_yield", "do"};
  return i > 0 && tokens_[i - 1].kind == TokenKind::kName && !is_one_of(word(i - 1), kBefore);
}

bool Places::is_declared(std::size_t i) const {
  if (i < 2 || is(i + 1, ".") || is(i - 1, ":") || is_member(i)) return false;
  if (is_other(i)) return true;
  static constexpr std::array<std::string_view, 7> kBehind{",", ";", "=", "(", "{", "[", ")"};
  if (!is_one_of(word(i + 1), kBehind)) return false;
  // Places are classes: where one is a whole operand, & * > are parts of a type.
  if (is(i - 1, "&") || is(i - 1, "*") || is(i - 1, ">"))
    return tokens_[i - 2].kind == TokenKind::kName || is(i - 2, ">") || is(i - 2, "*");
  if (!is(i - 1, ",") || is(i + 1, ")")) return false;
  // The first variable of the list follows its type.
  const std::size_t first = scopes_.declaration(i).begin;
  for (std::size_t at = first; at + 1 < i; ++at) {
    if (tokens_[at].kind != TokenKind::kName || is(at, "return")) return false;
    if (tokens_[at + 1].kind == TokenKind::kName && at + 2 < tokens_.size() &&
        tokens_[at + 2].kind != TokenKind::kName && !is(at + 2, ":") && !is(at + 2, "<"))
      return is_one_of(word(at + 2), kBehind);
    while (at + 2 < i && is(at + 1, ":")) ++at;
  }
  return false;
}

Places::Region Places::seen_by(std::size_t i) const {
  std::size_t at = i;
  bool in_parentheses = false;
  for (; at < tokens_.size(); ++at) {
    if (is(at, "}")) return {i, at};
    // A variable of a namespace is another than CUDA's, which is in the global one.
    if (!in_parentheses && is(at, ";") && scopes_.is_namespace(i)) return {i, i};
    if (is(at, ")")) {
      in_parentheses = true;
    } else if (in_parentheses && is(at, ";")) {
      return {i, at};  // a function without a body, a loop of one statement
    } else if (in_parentheses && is(at, "{") && is_closed(at)) {
      return {i, tokens_[at].partner};
    } else if (is_closed(at)) {
      at = tokens_[at].partner;
    }
  }
  return {i, i};
}

bool Places::is_hidden(std::size_t i) const {
  return std::any_of(declared_.begin(), declared_.end(), [&](const Region& seen) {
    return seen.begin < i && i < seen.end && word(seen.begin) == word(i);
  });
}

bool Places::is_inside_other(std::size_t i) const {
  return std::any_of(others_.begin(), others_.end(),
                     [&](const Region& other) { return other.begin < i && i < other.end; });
}

}  // namespace torchport::cuda
