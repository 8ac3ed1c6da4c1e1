// What the parts of the rewriter share: the text, its tokens and its changes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cuda/source/edits.h"
#include "cuda/source/rewrite.h"
#include "cuda/source/scopes.h"
#include "cuda/source/tokens.h"

namespace torchport::cuda {

inline constexpr std::string_view kPrefix = "::torchport::cuda::";

// GCC contracts after it has inlined, by the flag of the function that it inlines into.
inline constexpr std::string_view kContract = "__attribute__((optimize(\"fp-contract=fast\")))";

// Specifiers of CUDA that mean nothing to one thread of a host, and have an argument.
inline constexpr std::array<std::string_view, 5> kDroppedCalls{
    "__launch_bounds__", "__maxnreg__", "__cluster_dims__", "__block_size__", "__local_maxnreg__"};

template <std::size_t kCount>
bool is_one_of(std::string_view word, const std::array<std::string_view, kCount>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The text on one line, without line markers.
std::string without_lines(std::string_view text);

struct Code {
  Code(std::string_view of, const RewriteOptions& how)
      : text(of), options(how), tokens(tokens_of(of)), scopes(of, tokens), edits(of) {}
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  std::string_view text;
  const RewriteOptions& options;
  std::vector<Token> tokens;
  Scopes scopes;
  Edits edits;
  std::optional<base::Error> error{};
  std::size_t kernel_end = 0;  // of the kernel that the tokens are in
  std::size_t device_end = 0;  // of the function of a device that the tokens are in
};

// Asks and changes the code, by the numbers of its tokens.
class CodePart {
 public:
  explicit CodePart(Code& code)
      : code_(code),
        text_(code.text),
        options_(code.options),
        tokens_(code.tokens),
        scopes_(code.scopes),
        edits_(code.edits) {}

 protected:
  [[nodiscard]] std::string_view word(std::size_t i) const {
    return i < tokens_.size() ? text_.substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin)
                              : std::string_view();
  }
  [[nodiscard]] bool is(std::size_t i, std::string_view what) const { return word(i) == what; }
  [[nodiscard]] bool is_name(std::size_t i) const {
    return i < tokens_.size() && tokens_[i].kind == TokenKind::kName;
  }
  // Whether `count` tokens follow each other without a space.
  [[nodiscard]] bool joined(std::size_t i, std::size_t count) const {
    return i + count <= tokens_.size() &&
           tokens_[i + count - 1].end - tokens_[i].begin == static_cast<std::uint32_t>(count);
  }
  [[nodiscard]] bool is_closed(std::size_t i) const {
    return i < tokens_.size() && tokens_[i].partner > i;
  }
  // Whether token `i` is a member of something: `a.NAME`, `a->NAME`.
  [[nodiscard]] bool is_member(std::size_t i) const {
    return is(i - 1, ".") || (is(i - 1, ">") && is(i - 2, "-"));
  }
  // Whether a file is of the host's system, not of the program.
  [[nodiscard]] bool is_of_host(const std::string& file) const;

  // The program cannot be rewritten, because of this token.
  void fail(std::size_t token, std::string message);
  void drop(std::size_t token) { edits_.replace(tokens_[token].begin, tokens_[token].end, ""); }

  Code& code_;
  const std::string_view text_;
  const RewriteOptions& options_;
  const std::vector<Token>& tokens_;
  const Scopes& scopes_;
  Edits& edits_;
};

}  // namespace torchport::cuda
