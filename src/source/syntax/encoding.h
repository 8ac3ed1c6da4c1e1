// Checks which bytes Python would accept as source, and makes a copy that the parser can read at
// the same offsets. Converting to UTF-8 would move offsets, and edits are cut from the original
// bytes.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace torchport::syntax {

// Makes the parser's view of a source file. It has the same length, so that each offset is valid in
// the original. Bytes above ASCII of a declared non-UTF-8 encoding become '_', and a CR that ends a
// line alone becomes LF. Fails with kEncoding if CPython would refuse the file: NUL bytes, UTF-16,
// undecodable UTF-8, an unknown encoding cookie.
[[nodiscard]] base::Result<std::string> parser_view(std::string_view source);

[[nodiscard]] bool is_valid_utf8(std::string_view bytes, std::size_t& first_bad);

// The name in a PEP 263 cookie in the first two lines, lower case, or empty.
[[nodiscard]] std::string encoding_cookie(std::string_view source);

}  // namespace torchport::syntax
