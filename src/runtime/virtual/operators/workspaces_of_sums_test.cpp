#include "runtime/virtual/operators/workspaces_of_sums.h"

#include <doctest/doctest.h>

namespace torchport::vdev {

// Bytes of the blocks that an H100 allocated for gradients of biases (tests/plan/recorded).
TEST_CASE("sums over rows leave the parts that an H100 allocated") {
  const auto parts = [](std::int64_t outputs, std::int64_t inputs) {
    return buffers_of_sum(outputs, inputs, 4, 4, 132, 2048).parts;
  };
  CHECK(parts(3072, 6304) == 138412032);  // ViT-B/16, batch 32
  CHECK(parts(768, 6304) == 38928384);
  CHECK(parts(2304, 6304) == 116785152);
  CHECK(parts(2304, 8192) == 139198464);  // GPT-2, batch 8 of 1024
  CHECK(parts(768, 8192) == 50331648);
  CHECK(parts(3072, 1568) == 39321600);  // Swin-T, batch 32
}

TEST_CASE("short sums, and those with enough results for all threads, have no parts") {
  CHECK(buffers_of_sum(3072, 100, 4, 4, 132, 2048).parts == 0);
  CHECK(buffers_of_sum(1 << 20, 4096, 4, 4, 132, 2048).parts == 0);
  CHECK(buffers_of_sum(1 << 20, 4096, 4, 4, 132, 2048).semaphores == 0);
}

}  // namespace torchport::vdev
