#include "devices/visibility.h"

#include <doctest/doctest.h>

namespace torchport::devices {
namespace {

using Numbers = std::vector<int>;

std::vector<std::string> uuids(std::string_view text) {
  std::vector<std::string> result;
  for (const NamedDevice& device : named_devices(text)) {
    CHECK(device.number == -1);
    result.push_back(device.uuid);
  }
  return result;
}

TEST_CASE("numbers hide and reorder devices") {
  CHECK(visible_numbers(nullptr, 3) == Numbers{0, 1, 2});
  CHECK(visible_numbers(nullptr, 0).empty());
  CHECK(visible_numbers("2,0", 3) == Numbers{2, 0});
  CHECK(visible_numbers(" 1 , 2 ", 3) == Numbers{1, 2});
  CHECK(visible_numbers("+1,2gpu", 3) == Numbers{1, 2});
}

TEST_CASE("an entry that is no device ends the list") {
  for (const char* text : {"1,9,0", "1,-1,0", "1,,0", "1,x,0", "1,GPU-1,0", "1,99999999999,0"}) {
    CAPTURE(text);
    CHECK(visible_numbers(text, 3) == Numbers{1});
  }
  for (const char* text : {"", " ", "-1", "none", ",1", "3", "NoDevFiles"}) {
    CAPTURE(text);
    CHECK(visible_numbers(text, 3).empty());
  }
}

TEST_CASE("a repeated device leaves none") {
  CHECK(visible_numbers("0,1,0", 3).empty());
  CHECK(visible_numbers("0,9,0", 3) == Numbers{0});
  CHECK(uuids("GPU-a,GPU-a").empty());
}

TEST_CASE("UUIDs name GPUs or MIG instances, not both") {
  CHECK(uuids("GPU-8932f937, GPU-2") == std::vector<std::string>{"GPU-8932f937", "GPU-2"});
  CHECK(uuids("MIG-1,MIG-GPU-2/1/0") == std::vector<std::string>{"MIG-1", "MIG-GPU-2/1/0"});
  CHECK(uuids("GPU-1,MIG-2,GPU-3") == std::vector<std::string>{"GPU-1"});
  CHECK(uuids("MIG-1,0") == std::vector<std::string>{"MIG-1"});
  CHECK(visible_numbers("GPU-1", 3).empty());
}

TEST_CASE("UUIDs may be abbreviated where that is unambiguous") {
  const std::vector<std::string> known{"GPU-aa11", "GPU-aa22", "GPU-bb33"};
  CHECK(visible_numbers("GPU-bb33,GPU-aa11", 3, known) == Numbers{2, 0});
  CHECK(visible_numbers("GPU-bb,GPU-aa2", 3, known) == Numbers{2, 1});
  CHECK(visible_numbers("GPU-bb,GPU-aa,GPU-aa11", 3, known) == Numbers{2});
  CHECK(visible_numbers("GPU-,GPU-bb", 3, known).empty());
  CHECK(visible_numbers("GPU-bb,GPU-bb3", 3, known).empty());
  CHECK(visible_numbers("GPU-bb,GPU-cc,GPU-aa1", 3, known) == Numbers{2});
  CHECK(visible_numbers("gpu-bb", 3, known).empty());
  CHECK(visible_numbers("MIG-aa11,MIG-GPU-bb33/1/0", 3, known).empty());
  CHECK(visible_numbers("1,GPU-bb", 3, known) == Numbers{1});
}

TEST_CASE("without a count each number is a device") {
  REQUIRE(named_devices("77").size() == 1);
  CHECK(named_devices("77").front().number == 77);
  CHECK(named_devices("77", 77).empty());
}

}  // namespace
}  // namespace torchport::devices
