#include "source/syntax/ipython.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"

namespace torchport::syntax {

namespace {

// Commands that IPython takes without a percent sign ("automagic"), and pip3, which people write.
constexpr std::array<std::string_view, 18> kBareCommands{
    "pip", "pip3", "conda", "mamba", "uv",    "cd",   "ls",   "ll",   "cat",
    "cp",  "mv",   "rm",    "mkdir", "rmdir", "head", "less", "more", "man"};
constexpr std::array<std::string_view, 8> kOperators{"and", "or", "in",   "is",
                                                     "not", "if", "else", "for"};

bool is_among(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view word_of(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && base::is_identifier_char(text[end])) ++end;
  return text.substr(0, end);
}

// `pip install torch`, `cd ..`: a command and an argument that cannot follow a name in Python.
bool is_bare_command(std::string_view text) {
  const std::string_view command = word_of(text);
  if (!is_among(command, kBareCommands)) return false;
  std::string_view rest = text.substr(command.size());
  if (!rest.starts_with(' ') && !rest.starts_with('\t')) return false;
  rest = base::trim(rest);
  const std::string_view word = word_of(rest);
  if (!word.empty()) return !is_among(word, kOperators);
  return rest.starts_with('.') || rest.starts_with('~') || rest.starts_with("*.") ||
         rest.starts_with('"') || rest.starts_with('\'') || rest.starts_with("--");
}

}  // namespace

void CellText::add(std::string_view python) {
  for (std::size_t i = 0; i < python.size(); ++i) {
    const char c = python[i];
    const auto triple_at = [&](char quote) {
      return i + 2 < python.size() && python[i + 1] == quote && python[i + 2] == quote;
    };
    if (c == '\n') {
      comment_ = false;
      if (!triple_ && !continued_) quote_ = '\0';  // an error, but not one of the next line
      continued_ = i > 0 && python[i - 1] == '\\' && quote_ == '\0';
      continue;
    }
    if (comment_) continue;
    if (quote_ != '\0') {
      if (c == '\\') {
        ++i;
      } else if (c == quote_ && (!triple_ || triple_at(c))) {
        i += triple_ ? 2 : 0;
        quote_ = '\0';
        triple_ = false;
      }
    } else if (c == '"' || c == '\'') {
      quote_ = c;
      triple_ = triple_at(c);
      i += triple_ ? 2 : 0;
    } else if (c == '#') {
      comment_ = true;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth_;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth_;
    }
    continued_ = false;
  }
}

bool is_ipython(std::string_view line) {
  const std::string_view text = base::trim(line);
  if (text.empty()) return false;
  if (std::string_view("%!?,;/").find(text.front()) != std::string_view::npos) return true;
  if (text.back() == '?' && text.find('#') == std::string_view::npos &&
      text.find('"') == std::string_view::npos && text.find('\'') == std::string_view::npos)
    return true;
  if (is_bare_command(text)) return true;
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals + 1 >= text.size()) return false;
  const std::string_view right = base::trim(text.substr(equals + 1));
  return !right.empty() && (right.front() == '!' || (right.front() == '%' && right.size() > 1 &&
                                                     base::is_identifier_char(right[1])));
}

bool is_other_language(std::string_view first_line) {
  const std::string_view text = base::trim(first_line);
  if (!text.starts_with("%%")) return false;
  for (const std::string_view python :
       {"%%time", "%%timeit", "%%capture", "%%prun", "%%python", "%%memit", "%%wandb", "%%debug"}) {
    if (text.starts_with(python)) return false;
  }
  return true;
}

}  // namespace torchport::syntax
