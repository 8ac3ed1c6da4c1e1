// Scans the JSON text of a notebook for the strings of its code cells, with their offsets, which a
// JSON library does not tell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace torchport::syntax {

// The value of "source" in one code cell: a string, or a list of strings.
struct SourceValue {
  base::Span value;  // the whole JSON value
  bool is_list = false;
  std::vector<base::Span> items;  // the strings, between their quotes
};

// The code cells of valid JSON text, in order.
[[nodiscard]] std::vector<SourceValue> scan_code_cells(std::string_view json);

// Decodes the character or escape at `at`, appends it to `out`, and returns the offset after it.
std::size_t decode_one(std::string_view raw, std::size_t at, std::string& out);
[[nodiscard]] std::string decode_json_string(std::string_view raw);

}  // namespace torchport::syntax
