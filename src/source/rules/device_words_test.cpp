#include "source/rules/device_words.h"

#include <array>
#include <random>
#include <string>

#include <doctest/doctest.h>

namespace torchport::rules {
namespace {

constexpr auto kWords = std::to_array<std::string_view>(
    {"torch", "cuda", "CUDA", "nccl", "pin_memory", "multiprocessing", "ProcessPool", "os.fork",
     "environ", "def to("});

bool naive(std::string_view text) {
  for (const std::string_view word : kWords)
    if (text.find(word) != std::string_view::npos) return true;
  return false;
}

TEST_CASE("words at each place of a text") {
  CHECK(!speaks_of_devices(""));
  CHECK(!speaks_of_devices("cud"));
  CHECK(!speaks_of_devices("pin_memor"));
  for (const std::string_view word : kWords) {
    for (std::size_t before = 0; before < 9; ++before) {
      for (std::size_t after = 0; after < 4; ++after) {
        const std::string text =
            std::string(before, 'c') + std::string(word) + std::string(after, 't');
        CHECK(speaks_of_devices(text));
        CHECK(!speaks_of_devices(text.substr(0, before + word.size() - 1)));
      }
    }
  }
}

TEST_CASE("texts by chance, of the letters of the words") {
  std::mt19937 random(7);
  const std::string letters = "torchudaCUDAnlpi_mey \n\xe4";
  std::size_t found = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::size_t i = random() % 40; i > 0; --i) text += letters[random() % letters.size()];
    if (random() % 3 == 0)
      text.insert(random() % (text.size() + 1), random() % 2 == 0 ? "torc" : "nccl");
    const bool expected = naive(text);
    found += expected ? 1 : 0;
    REQUIRE(speaks_of_devices(text) == expected);
  }
  CHECK(found > 1000);
}

}  // namespace
}  // namespace torchport::rules
