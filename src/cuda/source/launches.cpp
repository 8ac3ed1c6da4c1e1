#include "cuda/source/launches.h"

#include <fmt/format.h>

namespace torchport::cuda {

void Launches::launch(std::size_t i) {
  if (i > 0 && is(i - 1, "operator")) return;
  std::size_t close = i + 3;
  while (close < tokens_.size() &&
         !(is(close, ">") && joined(close, 3) && is(close + 1, ">") && is(close + 2, ">"))) {
    if (is(close, ";")) return fail(i, "the launch `<<<` has no `>>>`");
    close = is_closed(close) ? tokens_[close].partner + 1 : close + 1;
  }
  if (close >= tokens_.size()) return fail(i, "the launch `<<<` has no `>>>`");
  const std::size_t open = close + 3;
  if (!is(open, "(") || !is_closed(open))
    return fail(i, "the launch has no arguments in parentheses behind `>>>`");
  const auto begin = callee_begin(i);
  if (!begin) return fail(i, "there is no kernel before the launch `<<<`");
  const std::size_t last = tokens_[close - 1].end;
  const std::size_t first = tokens_[i + 3].begin;
  std::string configuration(text_.substr(first, first < last ? last - first : 0));
  // A line marker cannot stand within a line.
  configuration = without_lines(configuration);
  edits_.insert(tokens_[*begin].begin,
                fmt::format("(!{}configure({}) ? (void)0 : (void)", kPrefix, configuration));
  edits_.replace(tokens_[i].begin, tokens_[close + 2].end, "");
  edits_.insert(tokens_[tokens_[open].partner].end, ")");
}

std::optional<std::size_t> Launches::callee_begin(std::size_t end) const {
  std::size_t at = end;
  while (at > 0) {
    --at;
    if (is(at, ">")) {
      const auto open = template_open(at);
      if (!open || *open == 0) return std::nullopt;
      at = *open - 1;
    }
    while ((is(at, "]") || is(at, ")")) && tokens_[at].partner < at) {
      at = tokens_[at].partner;
      // f(x)<<<...>>>: what a function returns. (f)<<<...>>>: only that.
      if (at == 0 || (tokens_[at - 1].kind != TokenKind::kName && !is(at - 1, ")"))) return at;
      if (is(at - 1, "return") || is(at - 1, "else") || ends_condition(at - 1)) return at;
      --at;
    }
    if (tokens_[at].kind != TokenKind::kName) return std::nullopt;
    if (is(at - 1, "template") && at > 0) --at;
    const bool scope = at > 1 && is(at - 1, ":") && is(at - 2, ":");
    const bool arrow = at > 1 && is(at - 1, ">") && is(at - 2, "-");
    const bool dot = at > 0 && is(at - 1, ".");
    if (!scope && !arrow && !dot) return at;
    at -= dot ? 1 : 2;
    const bool global =
        scope && (at == 0 || (tokens_[at - 1].kind != TokenKind::kName && !is(at - 1, ">")));
    if (global || (scope && (is(at - 1, "return") || is(at - 1, "else")))) return at;
  }
  return std::nullopt;
}

bool Launches::ends_condition(std::size_t at) const {
  const std::size_t open = tokens_[at].partner;
  return is(at, ")") && open > 0 && open < at &&
         (is(open - 1, "if") || is(open - 1, "while") || is(open - 1, "for") ||
          is(open - 1, "switch"));
}

std::optional<std::size_t> Launches::template_open(std::size_t close) const {
  std::size_t depth = 0;
  for (std::size_t at = close + 1; at-- > 0;) {
    if (is(at, ";") || is(at, "{")) return std::nullopt;
    if ((is(at, ")") || is(at, "]") || is(at, "}")) && tokens_[at].partner < at) {
      at = tokens_[at].partner;
    } else if (is(at, ">") && !(at > 0 && is(at - 1, "-"))) {
      ++depth;
    } else if (is(at, "<") && --depth == 0) {
      return at;
    }
  }
  return std::nullopt;
}

}  // namespace torchport::cuda
