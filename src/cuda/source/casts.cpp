#include "cuda/source/casts.h"

#include <array>

#include <fmt/format.h>

namespace torchport::cuda {

namespace {

constexpr std::array<std::string_view, 6> kKeywords{"int",   "unsigned", "long",
                                                    "short", "char",     "signed"};
constexpr std::array<std::string_view, 15> kAliases{
    "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t",
    "size_t", "ssize_t", "uint",    "ulong",   "ushort",  "uchar",    "ptrdiff_t"};
// Words that stand before an expression.
constexpr std::array<std::string_view, 7> kBefore{"return", "case",      "else",    "do",
                                                  "throw",  "co_return", "co_yield"};
// Words that no expression begins with.
constexpr std::array<std::string_view, 16> kNoOperand{
    "const", "volatile", "noexcept", "override", "final",  "mutable", "requires", "__attribute__",
    "throw", "return",   "and",      "or",       "bitand", "bitor",   "xor",      "try"};
constexpr std::string_view kNamespace = "::torchport::";

}  // namespace

std::size_t Casts::behind_integer(std::size_t i) const {
  if (is_one_of(word(i), kKeywords)) {
    while (is_one_of(word(i), kKeywords)) ++i;
    return i;
  }
  std::size_t at = i;
  if (is(at, "std") && is(at + 1, ":") && is(at + 2, ":")) at += 3;
  return is_one_of(word(at), kAliases) ? at + 1 : i;
}

bool Casts::is_integer_literal(std::size_t i) const {
  if (i >= tokens_.size()) return false;
  if (tokens_[i].kind == TokenKind::kText) return true;
  if (tokens_[i].kind != TokenKind::kNumber) return false;
  const std::string_view number = word(i);
  const bool hexadecimal = number.starts_with("0x") || number.starts_with("0X");
  return number.find_first_of(hexadecimal ? ".pP" : ".eEfF") == std::string_view::npos;
}

bool Casts::begins_operand(std::size_t i) const {
  if (i >= tokens_.size() || is_integer_literal(i)) return false;
  if (tokens_[i].kind == TokenKind::kNumber) return true;
  if (is_name(i)) return !is_one_of(word(i), kNoOperand);
  return is(i, "(") || is(i, "*") || is(i, "-") || is(i, "+") || is(i, "~") || is(i, ":");
}

bool Casts::is_before_expression(std::size_t i) const {
  if (is_name(i)) return is_one_of(word(i), kBefore);
  static constexpr std::array<std::string_view, 20> kMarks{"=", "+", "-", "*", "/", "%", "<",
                                                           ">", "&", "|", "^", "!", "~", "?",
                                                           ":", ",", "(", "[", "{", ";"};
  return is(i, "}") || is_one_of(word(i), kMarks);
}

std::string Casts::text_between(std::size_t begin, std::size_t end) const {
  return without_lines(
      text_.substr(tokens_[begin].begin, tokens_[end - 1].end - tokens_[begin].begin));
}

// (float)(int)x
bool Casts::is_behind_cast(std::size_t i) const {
  if (!is(i - 1, ")") || tokens_[i - 1].partner + 1 >= i - 1) return false;
  for (std::size_t at = tokens_[i - 1].partner + 1; at < i - 1; ++at)
    if (!is_name(at) && !is(at, ":")) return false;
  return true;
}

void Casts::in_parentheses(std::size_t i) {
  std::size_t first = i + 1;
  if (is(first, "const")) ++first;
  std::size_t behind = behind_integer(first);
  const bool is_known = behind > first;
  // (T)x, where T may be any type; (f)(x) is a call.
  if (!is_known && is_name(first)) behind = first + 1;
  if (behind == first || !is(behind, ")")) return;
  const std::size_t next = behind + 1;
  if (!begins_operand(next)) return;
  if (!is_known && !is_name(next) && tokens_[next].kind != TokenKind::kNumber) return;
  if (!(is_known && is_behind_cast(i)) && !is_before_expression(i - 1)) return;
  if (is(i - 1, ">") && !is_known) return;
  static constexpr std::array<std::string_view, 4> kOthers{"void", "bool", "float", "double"};
  if (!is_known && is_one_of(word(first), kOthers)) return;
  edits_.insert(tokens_[behind].end,
                fmt::format("({}Cast<{}>)", kNamespace, text_between(first, behind)));
}

// size_t(Cast<size_t>(x)) could be the type of a function.
void Casts::call(std::size_t open, std::string_view type) {
  edits_.insert(tokens_[open].end, fmt::format("static_cast<{}Cast<{}>>(", kNamespace, type));
  edits_.insert(tokens_[tokens_[open].partner].begin, ")");
}

void Casts::static_cast_at(std::size_t i) {
  if (!is(i + 1, "<")) return;
  const std::size_t first = i + 2;
  std::size_t behind = behind_integer(first);
  if (behind == first && is_name(first) && !is(first, "void") && !is(first, "bool"))
    behind = first + 1;
  if (behind == first || !is(behind, ">") || !is(behind + 1, "(") || !is_closed(behind + 1)) return;
  if (is_integer_literal(behind + 2) && is(behind + 3, ")")) return;
  call(behind + 1, text_between(first, behind));
}

void Casts::type_at(std::size_t i) {
  if (i < declared_until_ || (is(i - 1, ":") && is(i - 2, ":")) || is_member(i)) return;
  const std::size_t behind = behind_integer(i);
  if (behind == i) return;
  declared_until_ = behind;
  if (is_name(behind) && is(behind + 1, "=") && !is(behind + 2, "=") && !is(i - 1, "<")) {
    variables(behind, text_between(i, behind));
    return;
  }
  // int(x), but neither int(T) nor int (*f)(T).
  const bool is_call = is(behind, "(") && is_closed(behind) && behind == i + 1;
  if (!is_call || !is_before_expression(i - 1) || is(i - 1, "<") || is(i - 1, ";") ||
      is(i - 1, "{") || is(i - 1, "}") || !begins_operand(behind + 1))
    return;
  const std::size_t close = tokens_[behind].partner;
  if (behind_integer(behind + 1) > behind + 1 && !is(behind + 2, "(")) return;
  if (is(close + 1, "(") || is(close + 1, "[") || is(close + 1, "{") || is(close - 1, "*")) return;
  call(behind, word(i));
}

void Casts::variables(std::size_t i, const std::string& type) {
  while (is_name(i) && is(i + 1, "=") && !is(i + 2, "=") && !is(i + 2, "{")) {
    const std::size_t first = i + 2;
    std::size_t end = first;
    while (end < tokens_.size() && !is(end, ",") && !is(end, ";") && !is(end, ")") && !is(end, "}"))
      end = is_closed(end) ? tokens_[end].partner + 1 : end + 1;
    const bool is_integer = (end == first + 1 && is_integer_literal(first)) ||
                            word(i).starts_with("torchport_");  // of the rewriter
    if (!is_integer && end > first)
      edits_.insert(tokens_[i + 1].end, fmt::format(" {}Initial<{}>() =", kNamespace, type));
    if (!is(end, ",")) return;
    i = end + 1;
  }
}

}  // namespace torchport::cuda
