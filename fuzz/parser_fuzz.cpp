// Feeds any bytes as a Python file to both parsers. What the quick one takes has to have the tree
// that tree-sitter makes, record by record.
#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "property.h"
#include "source/syntax/parser_paths.h"

namespace {

constexpr std::string_view kTokens[] = {
    "(",      ")",      "[",      "]",       "{",       "}",      ",",       ":",      ";",
    ".",      "...",    "->",     ":=",      "=",       "+=",     "==",      "**",     "*",
    "-",      "|",      "@",      "~",       "!r",      " not ",  " in ",    " is ",   " and ",
    " if ",   " else ", "elif ",  " for ",   "def ",    "a",      "print",   "match ", "case ",
    "type ",  "_",      "async ", "await ",  "yield ",  "from ",  " as ",    "with ",  "try:",
    "except", "class ", "del ",   "lambda ", "import ", "0",      "1.5j",    "'s'",    "f'{",
    "\"",     "'''",    "r'\\",   "\n",      "\n  ",    "\n    ", "\n\t",    "\\\n",   "# c\n",
    "\n# c",  "return", "None",   "global ", "b''",     "\f",     "finally:"};

// Puts a token somewhere, or doubles or removes a few bytes. libFuzzer's own changes rarely leave a
// text that parses.
void change_token(std::string& text, std::minstd_rand& random) {
  const std::size_t at = text.empty() ? 0 : random() % (text.size() + 1);
  const std::size_t length = std::min<std::size_t>(text.size() - at, 1 + random() % 8);
  switch (random() % 3) {
    case 0:
      text.erase(at, length);
      break;
    case 1:
      text.insert(random() % (text.size() + 1), text.substr(at, length));
      break;
    default:
      text.replace(at, random() % 2 == 0 ? 0 : std::min<std::size_t>(length, 2),
                   kTokens[random() % std::size(kTokens)]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto found = torchport::syntax::compare_parsers(text);
  torchport::fuzz::require(
      found.outcome != torchport::syntax::ParserComparison::Outcome::kDiffers,
      "the quick parser makes the tree that tree-sitter makes: " + found.difference, text);
  return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed) {
  std::minstd_rand random(seed);
  std::string text(reinterpret_cast<const char*>(data), size);
  switch (random() % 8) {
    case 0:
      return LLVMFuzzerMutate(data, size, max_size);
    case 1:
    case 2:
      text = torchport::fuzz::mutate_lines(text, random);
      break;
    default:
      for (std::size_t changes = 1 + random() % 3; changes > 0; --changes)
        change_token(text, random);
  }
  if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
