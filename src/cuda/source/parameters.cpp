#include "cuda/source/parameters.h"

#include <algorithm>
#include <array>

namespace torchport::cuda {

namespace {

constexpr std::array<std::string_view, 16> kTypeWords{
    "void", "bool",     "char",  "short",  "int",   "long",     "float",    "double",
    "auto", "unsigned", "const", "signed", "class", "typename", "volatile", "struct"};

struct Reader {
  std::string_view text;
  const std::vector<Token>& tokens;

  [[nodiscard]] std::string_view word(std::size_t i) const {
    return text.substr(tokens[i].begin, tokens[i].end - tokens[i].begin);
  }
  [[nodiscard]] bool is(std::size_t i, std::string_view what) const { return word(i) == what; }
};

// Where the parts between two tokens begin and end, at commas outside of all brackets.
struct Part {
  std::size_t begin;
  std::size_t end;
};
std::vector<Part> parts_at(const Reader& read, std::size_t begin, std::size_t end,
                           std::string_view mark, bool templates) {
  std::vector<Part> parts;
  std::size_t depth = 0;
  std::size_t from = begin;
  for (std::size_t i = begin; i < end; ++i) {
    if (read.tokens[i].partner > i && read.tokens[i].partner < end) {
      i = read.tokens[i].partner;
    } else if (templates && read.is(i, "<")) {
      ++depth;
    } else if (templates && read.is(i, ">") && depth > 0) {
      --depth;
    } else if (depth == 0 && read.is(i, mark)) {
      parts.push_back({from, i});
      from = i + 1;
    }
  }
  parts.push_back({from, end});
  return parts;
}

Parameter parameter_of(const Reader& read, Part part) {
  Parameter found;
  std::size_t end = part.begin;
  std::size_t depth = 0;
  for (; end < part.end; ++end) {
    if (read.is(end, "<")) ++depth;
    if (read.is(end, ">") && depth > 0) --depth;
    if (depth > 0) continue;
    if (read.is(end, "=") || read.is(end, "[")) break;
    // The name of a pointer or reference to a function or an array: T (*name)(...).
    if (read.is(end, "(") && read.tokens[end].partner > end && end + 1 < part.end &&
        (read.is(end + 1, "*") || read.is(end + 1, "&"))) {
      end = read.tokens[end].partner;
      break;
    }
  }
  for (std::size_t i = part.begin; i + 2 < end; ++i)
    if (read.is(i, ".") && read.is(i + 1, ".")) found.is_pack = true;
  if (end == part.begin) return found;
  const std::size_t last = end - 1;
  if (read.tokens[last].kind != TokenKind::kName) return found;
  const std::string_view name = read.word(last);
  if (std::find(kTypeWords.begin(), kTypeWords.end(), name) != kTypeWords.end()) return found;
  // A type alone: T, const T, a::T.
  std::size_t types = 0;
  for (std::size_t i = part.begin; i < last; ++i) {
    const std::string_view before = read.word(i);
    if (before != "const" && before != "volatile" && before != "typename" && before != "struct" &&
        before != "class")
      ++types;
  }
  const bool is_scope = last > part.begin && read.is(last - 1, ":");
  if (types == 0 || is_scope) return found;
  found.name = name;
  return found;
}

void append_literal(std::string_view literal, std::string& to) {
  const std::size_t quote = literal.find('"');
  if (quote == std::string_view::npos || literal.size() < quote + 2) return;
  if (quote > 0 && literal[quote - 1] == 'R') {
    const std::size_t open = literal.find('(');
    const std::size_t close = literal.rfind(')');
    to += literal.substr(open + 1, close - open - 1);
    return;
  }
  for (std::size_t i = quote + 1; i + 1 < literal.size(); ++i) {
    if (literal[i] != '\\') {
      to += literal[i];
      continue;
    }
    ++i;
    to += literal[i] == 'n' ? '\n' : literal[i] == 't' ? '\t' : literal[i];
  }
}

std::vector<AsmOperand> operands_of(const Reader& read, Part part) {
  std::vector<AsmOperand> found;
  if (part.begin == part.end) return found;
  for (const Part& one : parts_at(read, part.begin, part.end, ",", false)) {
    AsmOperand operand;
    std::size_t at = one.begin;
    if (at < one.end && read.is(at, "[")) {
      operand.name = read.word(at + 1);
      at = read.tokens[at].partner + 1;
    }
    while (at < one.end && read.tokens[at].kind == TokenKind::kText)
      append_literal(read.word(at++), operand.constraint);
    if (at < one.end)
      operand.expression = read.text.substr(read.tokens[at].begin,
                                            read.tokens[one.end - 1].end - read.tokens[at].begin);
    found.push_back(std::move(operand));
  }
  return found;
}

}  // namespace

std::vector<Parameter> parameters_between(std::string_view text, const std::vector<Token>& tokens,
                                          std::size_t open, std::size_t close) {
  const Reader read{text, tokens};
  std::vector<Parameter> found;
  if (open + 1 == close) return found;
  if (open + 2 == close && read.is(open + 1, "void")) return found;
  for (const Part& part : parts_at(read, open + 1, close, ",", true)) {
    Parameter one = parameter_of(read, part);
    // A pack without a name cannot be loaded, and has no values that anybody reads.
    if (one.is_pack && one.name.empty()) continue;
    found.push_back(std::move(one));
  }
  return found;
}

std::optional<AsmStatement> asm_between(std::string_view text, const std::vector<Token>& tokens,
                                        std::size_t open, std::size_t close) {
  const Reader read{text, tokens};
  if (open + 1 >= close || tokens[open + 1].kind != TokenKind::kText) return std::nullopt;
  AsmStatement statement;
  std::vector<Part> parts;
  // "::" is two colons, too.
  for (const Part& part : parts_at(read, open + 1, close, ":", false)) parts.push_back(part);
  // A qualified name in an operand has no colon of its own outside of parentheses.
  for (std::size_t i = parts[0].begin; i < parts[0].end; ++i)
    if (tokens[i].kind == TokenKind::kText) append_literal(read.word(i), statement.text);
  if (parts.size() > 1) statement.outputs = operands_of(read, parts[1]);
  if (parts.size() > 2) statement.inputs = operands_of(read, parts[2]);
  return statement;
}

}  // namespace torchport::cuda
