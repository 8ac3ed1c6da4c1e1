#include "runtime/virtual/core/tensor_bytes.h"

#include <array>
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

namespace torchport::vdev {

namespace {

// What is noted is decided when the process asks first.
const bool kNoted = setenv("TORCHPORT_CHECK_KERNELS", "1", 1) == 0;

struct Said {
  std::string text;
  cuda::TensorBytes bytes;
};
Said said_of(const void* address) {
  std::array<char, 256> text{};
  Said said;
  REQUIRE(describe_bytes(address, &said.bytes, text.data(), text.size()));
  said.text = text.data();
  return said;
}

std::array<char, 8192> memory{};  // as if an allocator gave parts of it

}  // namespace

TEST_CASE("what lies just behind a tensor is not said to be of an older one in whose place it is") {
  REQUIRE(kNoted);
  char* const begin = memory.data();
  note_bytes(begin, 4096);
  forget_bytes(begin);
  note_bytes(begin + 64, 132);
  const Said behind = said_of(begin + 64 + 132);
  CHECK(behind.text == "a tensor of 132 bytes");
  CHECK(!behind.bytes.freed);
  CHECK(behind.bytes.begin == begin + 64);
  CHECK(said_of(begin + 2048).text == "a tensor of 4096 bytes, which was freed");
  CHECK(said_of(begin + 32).bytes.freed);
  forget_bytes(begin + 64);
}

TEST_CASE("a tensor that is gone is named though another one ends where it began") {
  char* const begin = memory.data() + 4096;
  note_bytes(begin, 128);
  note_bytes(begin + 128, 128);
  forget_bytes(begin + 128);
  CHECK(said_of(begin + 128).text == "a tensor of 128 bytes, which was freed");
  forget_bytes(begin);
}

}  // namespace torchport::vdev
