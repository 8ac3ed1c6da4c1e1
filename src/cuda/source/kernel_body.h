// The tokens of a kernel's body, for those who read it statement by statement. Whoever reads code
// that is not of the few forms that are known throws Refused.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/source/tokens.h"

namespace torchport::cuda {

// A kernel that stays as it is.
class Refused : public std::exception {};

using Words = std::set<std::string_view>;

// Types of integers.
const Words& integer_types();
bool is_number_type(std::string_view word);
// Functions that never wait for another thread, and change nothing but what a pointer names.
bool never_waits(std::string_view name);
// threadIdx, blockIdx, blockDim, gridDim.
bool is_place(std::string_view word);
// Words that code has which is more than statements on numbers.
bool is_forbidden(std::string_view word);

// Tokens are named by their place among those that are not lines of the preprocessor. Places behind
// the last one have no word.
class KernelBody {
 public:
  // From the token `{` to its counterpart.
  KernelBody(std::string_view text, const std::vector<Token>& tokens, std::size_t begin,
             std::size_t end);

 protected:
  static void require(bool condition) {
    if (!condition) throw Refused();
  }

  // By the number of a token of the text.
  [[nodiscard]] std::string_view raw(std::size_t token) const {
    return text_.substr(tokens_[token].begin, tokens_[token].end - tokens_[token].begin);
  }
  [[nodiscard]] std::string_view word(std::size_t p) const {
    return p < at_.size() ? raw(at_[p]) : std::string_view();
  }
  [[nodiscard]] bool is(std::size_t p, std::string_view what) const { return word(p) == what; }
  [[nodiscard]] bool is_name(std::size_t p) const {
    return p < at_.size() && tokens_[at_[p]].kind == TokenKind::kName;
  }
  [[nodiscard]] bool is_number(std::size_t p) const {
    return p < at_.size() && tokens_[at_[p]].kind == TokenKind::kNumber;
  }
  [[nodiscard]] std::size_t begin_of(std::size_t p) const { return tokens_[at_[p]].begin; }
  [[nodiscard]] std::size_t end_of(std::size_t p) const { return tokens_[at_[p]].end; }
  // Whether token p and the one behind it are one operator.
  [[nodiscard]] bool joined(std::size_t p) const {
    return p + 1 < at_.size() && end_of(p) == begin_of(p + 1);
  }
  [[nodiscard]] bool is_two(std::size_t p, std::string_view two) const {
    return joined(p) && is(p, two.substr(0, 1)) && is(p + 1, two.substr(1, 1));
  }
  [[nodiscard]] std::size_t partner(std::size_t p) const {
    const std::size_t token = tokens_[at_[p]].partner;
    const auto found = std::lower_bound(at_.begin(), at_.end(), token);
    require(found != at_.end() && *found == token && token != at_[p]);
    return static_cast<std::size_t>(found - at_.begin());
  }
  [[nodiscard]] bool opens(std::size_t p) const { return is(p, "(") || is(p, "[") || is(p, "{"); }
  [[nodiscard]] bool is_member(std::size_t p) const {
    return p > 0 && (is(p - 1, ".") || (p > 1 && is_two(p - 2, "->")));
  }
  [[nodiscard]] bool has(std::size_t begin, std::size_t end, std::string_view what) const {
    for (std::size_t p = begin; p < end; ++p)
      if (is(p, what)) return true;
    return false;
  }
  // Whether a value ends before token p, so that an operator there has two operands. What may be a
  // cast, (a) or (int*), is none.
  [[nodiscard]] bool is_behind_value(std::size_t p) const {
    if (p == 0) return false;
    if (is(p - 1, ")")) return !may_be_cast(p - 1);
    return (is_name(p - 1) && !is(p - 1, "return")) || is_number(p - 1) || is(p - 1, "]");
  }
  [[nodiscard]] bool may_be_cast(std::size_t close) const;
  // Whether token p is an assignment, also one with an operator, or ++ or --.
  [[nodiscard]] bool assigns(std::size_t p) const;
  // Whether the token `=` at p is of ==, !=, <= or >=.
  [[nodiscard]] bool compares(std::size_t p) const {
    return is_two(p, "==") ||
           (p > 0 && joined(p - 1) &&
            (is(p - 1, "=") || is(p - 1, "!") || is(p - 1, "<") || is(p - 1, ">")));
  }
  [[nodiscard]] bool is_atomic(std::size_t p) const {
    return is_name(p) && word(p).substr(0, 6) == "atomic";
  }
  // The first such token from `begin` on that is in no parentheses; `end` if there is none.
  [[nodiscard]] std::size_t find_outside(std::size_t begin, std::size_t end,
                                         std::string_view what) const {
    std::size_t p = begin;
    while (p < end && !is(p, what)) p = opens(p) ? partner(p) + 1 : p + 1;
    return p;
  }
  // The text of tokens [begin, end), on one line.
  [[nodiscard]] std::string joined_text(std::size_t begin, std::size_t end) const {
    std::string all;
    for (std::size_t p = begin; p < end; ++p) {
      if (p > begin && !joined(p - 1)) all += ' ';
      all += word(p);
    }
    return all;
  }
  // The first token behind the statement that begins at p.
  [[nodiscard]] std::size_t behind_statement(std::size_t p) const;
  // Whether something between the tokens may change the variable itself, not what it points to.
  [[nodiscard]] bool is_changed(std::string_view name, std::size_t begin, std::size_t end) const;
  [[nodiscard]] bool is_changed_in_parentheses(std::string_view name, std::size_t begin,
                                               std::size_t end) const;

  std::string_view text_;
  const std::vector<Token>& tokens_;
  std::vector<std::size_t> at_;
};

}  // namespace torchport::cuda
