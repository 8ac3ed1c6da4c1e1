// The bytes and words that names, numbers and keywords of Python 3 are made of, for its lexer.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "source/syntax/python_lexer.h"

namespace torchport::syntax {

enum ByteClass : std::uint8_t {
  kOtherByte = 0,
  kLetter = 1,  // also bytes of identifiers beyond ASCII
  kDigit = 2,
  kBlank = 4,
  kWide = 8,  // the bytes beyond ASCII
};

inline constexpr std::array<std::uint8_t, 256> kByteClasses = [] {
  std::array<std::uint8_t, 256> classes{};
  for (unsigned c = 0; c < 256; ++c) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_') classes[c] = kLetter;
    if (c >= '0' && c <= '9') classes[c] = kDigit;
    if (c == ' ' || c == '\t' || c == '\f') classes[c] = kBlank;
    if (c >= 0x80U) classes[c] = kWide;
  }
  return classes;
}();

inline std::uint8_t class_of_byte(char c) {
  return kByteClasses[static_cast<std::uint8_t>(c)];
}
inline bool is_digit(char c) {
  return class_of_byte(c) == kDigit;
}
inline bool continues_name(char c) {
  return (class_of_byte(c) & (kLetter | kDigit | kWide)) != 0;
}

// The words of Python 3 that are no names in any place.
struct Keyword {
  std::string_view word;
  Token token = Token::kName;
};

inline constexpr std::array<Keyword, 35> kAllKeywords{{
    {"False", Token::kFalse},
    {"None", Token::kNone},
    {"True", Token::kTrue},
    {"and", Token::kAnd},
    {"as", Token::kAs},
    {"assert", Token::kAssert},
    {"async", Token::kAsync},
    {"await", Token::kAwait},
    {"break", Token::kBreak},
    {"class", Token::kClass},
    {"continue", Token::kContinue},
    {"def", Token::kDef},
    {"del", Token::kDel},
    {"elif", Token::kElif},
    {"else", Token::kElse},
    {"except", Token::kExcept},
    {"finally", Token::kFinally},
    {"for", Token::kFor},
    {"from", Token::kFrom},
    {"global", Token::kGlobal},
    {"if", Token::kIf},
    {"import", Token::kImport},
    {"in", Token::kIn},
    {"is", Token::kIs},
    {"lambda", Token::kLambda},
    {"nonlocal", Token::kNonlocal},
    {"not", Token::kNot},
    {"or", Token::kOr},
    {"pass", Token::kPass},
    {"raise", Token::kRaise},
    {"return", Token::kReturn},
    {"try", Token::kTry},
    {"while", Token::kWhile},
    {"with", Token::kWith},
    {"yield", Token::kYield},
}};

// No two keywords have the same slot.
constexpr std::size_t keyword_slot(char first, char last, std::size_t length) {
  return (static_cast<std::uint8_t>(first) + static_cast<std::uint8_t>(last) + 19 * length) & 127U;
}

inline constexpr std::array<Keyword, 128> kKeywordSlots = [] {
  std::array<Keyword, 128> slots{};
  for (const Keyword& keyword : kAllKeywords) {
    Keyword& slot =
        slots[keyword_slot(keyword.word.front(), keyword.word.back(), keyword.word.size())];
    slot = keyword;
  }
  return slots;
}();
static_assert(std::ranges::count_if(kKeywordSlots, [](const Keyword& slot) {
                return !slot.word.empty();
              }) == static_cast<std::ptrdiff_t>(kAllKeywords.size()));

// The keyword that a word is, or kName. `word` is not empty.
inline Token keyword_or_name(std::string_view word) {
  const Keyword& keyword = kKeywordSlots[keyword_slot(word.front(), word.back(), word.size())];
  const bool matches = keyword.word.size() == word.size() &&
                       std::memcmp(keyword.word.data(), word.data(), word.size()) == 0;
  return matches ? keyword.token : Token::kName;
}

// Behind the character beyond ASCII at `c`, or null if it is not certainly a letter in every
// release of Unicode since 5.0. A name with such a character is left to the grammar.
[[nodiscard]] const char* after_letter(const char* c);

// Whether a word before a quote belongs to the string: r, b, f, u, t and their pairs.
[[nodiscard]] bool is_string_prefix(std::string_view word);

}  // namespace torchport::syntax
