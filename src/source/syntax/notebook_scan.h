// The raw side of a notebook: JSON strings and where they stand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace torchport::syntax {

// The "source" of one code cell: a string, or a list of strings.
struct SourceValue {
  base::Span value;  // the whole JSON value
  bool is_list = false;
  std::vector<base::Span> items;  // the strings, between their quotes
};

// The code cells of valid JSON text, in order.
[[nodiscard]] std::vector<SourceValue> scan_code_cells(std::string_view json);

// Decodes the character or escape at `at`, appends it to `out`, returns the offset after it.
std::size_t decode_one(std::string_view raw, std::size_t at, std::string& out);
[[nodiscard]] std::string decode_json_string(std::string_view raw);

}  // namespace torchport::syntax
