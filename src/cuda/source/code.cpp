#include "cuda/source/code.h"

#include <filesystem>
#include <system_error>

namespace torchport::cuda {

std::string without_lines(std::string_view text) {
  std::string result;
  bool marker = false;
  bool begins = false;
  for (const char c : text) {
    if (c == '\n') {
      marker = false;
      begins = true;
      result += ' ';
      continue;
    }
    if (begins && c == '#') marker = true;
    if (c != ' ') begins = false;
    if (!marker) result += c;
  }
  return result;
}

void CodePart::fail(std::size_t token, std::string message) {
  SourceLine where = line_of(text_, tokens_[token].begin);
  code_.error =
      base::Error{base::ErrorCode::kSyntax, std::move(message), std::move(where.file), where.line};
}

// The preprocessor names a file as it found it: by a path from this folder on, or by a link.
bool CodePart::is_of_host(const std::string& file) const {
  std::error_code error;
  const std::string path = std::filesystem::weakly_canonical(file, error).string();
  return std::any_of(
      options_.host_folders.begin(), options_.host_folders.end(),
      [&](const std::string& folder) { return (error ? file : path).starts_with(folder); });
}

}  // namespace torchport::cuda
