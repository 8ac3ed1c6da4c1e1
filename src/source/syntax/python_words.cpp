#include "source/syntax/python_words.h"

namespace torchport::syntax {

namespace {

// Letters beyond ASCII in blocks that are nothing else.
bool is_letter(char32_t c) {
  return c == 0xAAU || c == 0xB5U || c == 0xBAU ||
         (c >= 0xC0U && c <= 0x2C1U && c != 0xD7U && c != 0xF7U) ||
         (c >= 0x388U && c <= 0x3FFU && c != 0x38BU && c != 0x38DU && c != 0x3A2U && c != 0x3F6U) ||
         (c >= 0x400U && c <= 0x481U) || (c >= 0x5D0U && c <= 0x5EAU) ||
         (c >= 0x620U && c <= 0x64AU) || (c >= 0x3041U && c <= 0x3096U) ||
         (c >= 0x30A1U && c <= 0x30FAU) || (c >= 0x4E00U && c <= 0x9FA5U) ||
         (c >= 0xAC00U && c <= 0xD7A3U);
}

}  // namespace

const char* after_letter(const char* c) {
  const auto byte = [&](int i) { return static_cast<std::uint8_t>(c[i]); };
  if (byte(0) >= 0xC2U && byte(0) < 0xE0U)
    return is_letter(((byte(0) & 0x1FU) << 6U) | (byte(1) & 0x3FU)) ? c + 2 : nullptr;
  if (byte(0) >= 0xE0U && byte(0) < 0xF0U) {
    return is_letter(((byte(0) & 0x0FU) << 12U) | ((byte(1) & 0x3FU) << 6U) | (byte(2) & 0x3FU))
               ? c + 3
               : nullptr;
  }
  return nullptr;
}

bool is_string_prefix(std::string_view word) {
  const auto lower = [](char c) { return static_cast<char>(c | 0x20); };
  const char first = lower(word[0]);
  if (word.size() == 1)
    return first == 'r' || first == 'b' || first == 'f' || first == 'u' || first == 't';
  if (word.size() != 2) return false;
  const char second = lower(word[1]);
  const auto pairs = [](char c) { return c == 'b' || c == 'f' || c == 't'; };
  return (first == 'r' && pairs(second)) || (second == 'r' && pairs(first));
}

}  // namespace torchport::syntax
