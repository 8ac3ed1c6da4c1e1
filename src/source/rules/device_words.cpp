// Looks for all words at once, as Wu and Manber do ("A fast algorithm for multi-pattern searching",
// 1994): the last two bytes of a window say how far it can move. Searches for one word after the
// other (memmem) took three times the instructions.
#include "source/rules/device_words.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace torchport::rules {

namespace {

// The last ones are of files that say for others when CUDA may be asked for, and what `to` does.
constexpr auto kWords = std::to_array<std::string_view>(
    {"torch", "cuda", "CUDA", "nccl", "pin_memory", "multiprocessing", "ProcessPool", "os.fork",
     "environ", "def to("});
constexpr std::size_t kWindow = 4;  // the length of the shortest word
constexpr std::size_t kBits = 12;   // of the table's index

constexpr std::size_t place_of(char first, char second) {
  const auto pair = static_cast<std::uint32_t>(static_cast<std::uint8_t>(first)) << 5U ^
                    static_cast<std::uint32_t>(static_cast<std::uint8_t>(second));
  return pair & ((1U << kBits) - 1U);
}

// How far a window may move that ends in two bytes; 0 if a word may begin with it.
constexpr auto kMoves = [] {
  std::array<std::uint8_t, 1U << kBits> moves{};
  moves.fill(kWindow - 1);
  for (const std::string_view word : kWords) {
    for (std::size_t end = 1; end < kWindow; ++end) {
      std::uint8_t& move = moves[place_of(word[end - 1], word[end])];
      move = std::min(move, static_cast<std::uint8_t>(kWindow - 1 - end));
    }
  }
  return moves;
}();

}  // namespace

bool speaks_of_devices(std::string_view text) {
  for (std::size_t end = kWindow; end <= text.size();) {
    const std::uint8_t move = kMoves[place_of(text[end - 2], text[end - 1])];
    if (move == 0) {
      const std::string_view rest = text.substr(end - kWindow);
      if (std::any_of(kWords.begin(), kWords.end(),
                      [&](std::string_view word) { return rest.starts_with(word); }))
        return true;
    }
    end += std::max<std::size_t>(move, 1);
  }
  return false;
}

}  // namespace torchport::rules
