// Represents expected failures as values: every fallible function of torchport returns Result<T>.
// Exceptions stay inside the libraries that throw them. A file that cannot be read is ordinary
// input for this program, and a value cannot be forgotten ([[nodiscard]]) as an exception can.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace torchport::base {

enum class ErrorCode : std::uint8_t {
  kIo,        // the operating system refused; the message has its reason
  kEncoding,  // the bytes are not the text they claim to be
  kSyntax,    // the text is not the language it claims to be
  kBudget,    // a time or size limit was reached; nothing is wrong with the file
  kConfig,    // a setting is unknown or out of range
  kUsage,     // the command line does not make sense
  kChanged,   // a file is no longer what was read
  kNotKnown,  // what was asked cannot be told
  kInternal,  // a bug in torchport
};

// What went wrong, in words that a user can act on, and where. If there is no place, the path is
// empty and the line is 0.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string path;
  std::uint32_t line = 0;
};

template <class T>
using Result = tl::expected<T, Error>;

// Shorthand for `return fail(kIo, "...", path)`.
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message,
                                                std::string path = {}, std::uint32_t line = 0) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(path), line});
}

}  // namespace torchport::base
