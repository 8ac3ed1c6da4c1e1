// What CUDA's runtime calls its errors.
#pragma once

#include <cstdint>
#include <string_view>

namespace torchport::device {

struct RuntimeErrorWords {
  std::int64_t number;    // of cudaError_t
  std::string_view name;  // cudaErrorInvalidValue
  std::string_view text;  // "invalid argument"
};

// Of any number; of one that is no error, what cudaGetErrorString() says of it. Thread safe.
[[nodiscard]] RuntimeErrorWords runtime_error_words(std::int64_t number);

}  // namespace torchport::device
