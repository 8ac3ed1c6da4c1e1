#include "base/text.h"

#include <algorithm>
#include <numeric>

namespace torchport::base {

namespace {

constexpr std::uint32_t kBlock = 1024;

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

}  // namespace

LineIndex::LineIndex(std::string_view text) : text_(text) {
  // Two plain loops, which compilers and the C library make fast: each file is read through here.
  std::uint32_t seen = 0;
  continuations_.reserve(text.size() / kBlock + 2);
  for (std::size_t block = 0; block < text.size(); block += kBlock) {
    continuations_.push_back(seen);
    for (const char c : text.substr(block, kBlock)) seen += is_continuation(c) ? 1U : 0U;
  }
  continuations_.push_back(seen);
  starts_.reserve(text.size() / 32 + 1);
  starts_.push_back(0);
  if (text.find('\r') == std::string_view::npos) {
    for (auto at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
      starts_.push_back(static_cast<std::uint32_t>(at) + 1);
    return;
  }
  for (std::uint32_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n')))
      starts_.push_back(i + 1);
  }
}

std::uint32_t LineIndex::continuations(std::uint32_t offset) const {
  offset = std::min(offset, static_cast<std::uint32_t>(text_.size()));
  std::uint32_t count = continuations_[offset / kBlock];
  for (std::uint32_t i = offset / kBlock * kBlock; i < offset; ++i)
    count += is_continuation(text_[i]) ? 1 : 0;
  return count;
}

LineColumn LineIndex::at(std::uint32_t offset) const {
  offset = std::min(offset, static_cast<std::uint32_t>(text_.size()));
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const auto line = static_cast<std::uint32_t>(after - starts_.begin());
  const std::uint32_t start = starts_[line - 1];
  return {line, offset - start - (continuations(offset) - continuations(start)) + 1};
}

std::uint32_t LineIndex::line_start(std::uint32_t line) const {
  return starts_[std::min<std::size_t>(line == 0 ? 0 : line - 1, starts_.size() - 1)];
}

std::string_view LineIndex::line(std::uint32_t line) const {
  const std::uint32_t start = line_start(line);
  std::size_t end = line < starts_.size() ? starts_[line] : text_.size();
  while (end > start && (text_[end - 1] == '\n' || text_[end - 1] == '\r')) --end;
  return text_.substr(start, end - start);
}

std::string_view trim(std::string_view text) {
  const auto space = [](char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
  };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool is_identifier_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80U;
}

bool contains_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const bool starts = at == 0 || !is_identifier_char(text[at - 1]);
    const std::size_t end = at + word.size();
    if (starts && (end == text.size() || !is_identifier_char(text[end]))) return true;
  }
  return false;
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool one_of(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::size_t control_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80U)
    return (first < 0x20U && first != '\n' && first != '\t') || first == 0x7FU ? 1 : 0;
  if (first == 0xC2U) return byte(1) < 0xA0U ? 2 : 0;
  if (first == 0xD8U) return byte(1) == 0x9CU ? 2 : 0;  // U+061C
  if (first != 0xE2U) return 0;
  const unsigned third = byte(2);
  if (byte(1) == 0x80U)  // U+200E, U+200F, U+2028 to U+202E
    return third == 0x8EU || third == 0x8FU || (third >= 0xA8U && third <= 0xAEU) ? 3 : 0;
  return byte(1) == 0x81U && third >= 0xA6U && third <= 0xA9U ? 3 : 0;  // U+2066 to U+2069
}

}  // namespace torchport::base
