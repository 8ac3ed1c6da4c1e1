#include "runtime/device/runtime_error_words.h"

#include <doctest/doctest.h>

namespace torchport::device {

TEST_CASE("errors of CUDA's runtime have names and words") {
  CHECK(runtime_error_words(0).name == "cudaSuccess");
  CHECK(runtime_error_words(0).text == "no error");
  CHECK(runtime_error_words(710).name == "cudaErrorAssert");
  CHECK(runtime_error_words(10000).text == "api failure base");
  for (const int number : {-1, 10, 12345})
    CHECK(runtime_error_words(number).text == "unrecognized error code");
}

}  // namespace torchport::device
