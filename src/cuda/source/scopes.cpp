#include "cuda/source/scopes.h"

namespace torchport::cuda {

Scopes::Scopes(std::string_view text, const std::vector<Token>& tokens)
    : text_(text), tokens_(tokens), flags_(tokens.size(), 0) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    flags_[i] = 1;
    if (word(i) != "{" || tokens[i].partner <= i) continue;
    if (opens_namespace(i)) continue;
    i = tokens[i].partner;  // what is within stays 0
    flags_[i] = 1;
  }
}

std::string_view Scopes::word(std::size_t i) const {
  return i < tokens_.size() ? text_.substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin)
                            : std::string_view();
}

// namespace a::b { , inline namespace a __attribute__((...)) { , extern "C" {
bool Scopes::opens_namespace(std::size_t brace) const {
  if (brace > 0 && tokens_[brace - 1].kind == TokenKind::kText)
    return brace > 1 && word(brace - 2) == "extern";
  for (std::size_t at = brace; at-- > 0;) {
    const std::string_view it = word(at);
    if (it == "namespace") return true;
    if (it == ")" || it == "]") {
      if (tokens_[at].partner >= at) return false;
      at = tokens_[at].partner;
    } else if (tokens_[at].kind != TokenKind::kName && it != ":") {
      return false;
    }
  }
  return false;
}

// Behind the `>` that closes the `<` of token `open`; the next token if nothing closes it.
std::size_t Scopes::behind_template_arguments(std::size_t open) const {
  std::size_t depth = 0;
  for (std::size_t at = open; at < tokens_.size(); ++at) {
    const std::string_view it = word(at);
    if (it == ";" || it == "{" || it == "}") break;
    if ((it == "(" || it == "[") && tokens_[at].partner > at) {
      at = tokens_[at].partner;
    } else if (it == "<") {
      ++depth;
    } else if (it == ">" && --depth == 0) {
      return at + 1;
    }
  }
  return open + 1;
}

Declaration Scopes::declaration(std::size_t i) const {
  Declaration found;
  std::size_t begin = i;
  std::size_t angles = 0;
  while (begin > 0) {
    const std::string_view before = word(begin - 1);
    if (before == ")" || before == "]") {
      if (tokens_[begin - 1].partner >= begin - 1) break;
      begin = tokens_[begin - 1].partner;
      continue;
    }
    if (before == ">") ++angles;
    if (before == "<" && angles > 0) --angles;
    if (before == ";" || before == "{" || before == "}" || before == "(" ||
        tokens_[begin - 1].kind == TokenKind::kLine)
      break;
    if (before == ":" && !(begin > 1 && word(begin - 2) == ":") && word(begin) != ":") break;
    --begin;
  }
  found.begin = begin;
  std::size_t end = i;
  while (end < tokens_.size()) {
    const std::string_view it = word(end);
    if (it == "operator") {
      // operator=, operator(), operator T: the parameters follow.
      end += word(end + 1) == "(" ? 3 : 1;
      while (end < tokens_.size() && tokens_[end].kind == TokenKind::kMark && word(end) != "(")
        ++end;
      continue;
    }
    if (it == "<" && end > 0 && tokens_[end - 1].kind == TokenKind::kName) {
      end = behind_template_arguments(end);
      continue;
    }
    if (it == ";" || it == "=" || it == "{" || it == "[" || it == "}") break;
    if (it == "(") {
      const std::string_view before = word(end - 1);
      const bool attribute = before == "__attribute__" || before == "alignas" ||
                             before == "__align__" || before == "decltype" ||
                             before == "__launch_bounds__";
      if (!attribute) {
        found.is_function = true;
        break;
      }
      if (tokens_[end].partner <= end) break;
      end = tokens_[end].partner;
    }
    ++end;
  }
  found.end = end;
  for (std::size_t at = begin; at < end; ++at)
    if (word(at) == "template") found.is_template = true;
  // A::f, but not the A::T of a type before a name.
  if (found.is_function && end > 1) {
    std::size_t name = end - 1;
    if (name > 1 && word(name - 1) == ":" && word(name - 2) == ":") found.is_member = true;
    if (word(name) == ">") found.is_member = true;  // a specialization
    for (std::size_t at = begin; at < end; ++at)
      if (word(at) == "operator" && at > 1 && word(at - 1) == ":") found.is_member = true;
  } else if (!found.is_function && end > 2 && word(end - 2) == ":" && word(end - 3) == ":") {
    found.is_member = true;
  }
  return found;
}

bool Scopes::has(const Declaration& declared, std::string_view wanted) const {
  for (std::size_t at = declared.begin; at < declared.end; ++at)
    if (word(at) == wanted) return true;
  return false;
}

}  // namespace torchport::cuda
