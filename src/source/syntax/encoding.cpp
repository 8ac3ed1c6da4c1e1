#include "source/syntax/encoding.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "base/text.h"

namespace torchport::syntax {

namespace {

using base::ErrorCode;

std::uint8_t byte_at(std::string_view bytes, std::size_t i) {
  return static_cast<std::uint8_t>(bytes[i]);
}

// The length of the well-formed UTF-8 sequence at i (RFC 3629, table 3-7 of the Unicode standard);
// 0 if there is none.
std::size_t sequence_length(std::string_view bytes, std::size_t i) {
  const std::uint8_t lead = byte_at(bytes, i);
  if (lead < 0x80U) return 1;
  const std::size_t length = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : 2;
  if (lead < 0xC2U || lead > 0xF4U || i + length > bytes.size()) return 0;
  const std::uint8_t second = byte_at(bytes, i + 1);
  const std::uint8_t low = lead == 0xE0U ? 0xA0U : lead == 0xF0U ? 0x90U : 0x80U;
  const std::uint8_t high = lead == 0xEDU ? 0x9FU : lead == 0xF4U ? 0x8FU : 0xBFU;
  if (second < low || second > high) return 0;
  for (std::size_t k = 2; k < length; ++k) {
    if ((byte_at(bytes, i + k) & 0xC0U) != 0x80U) return 0;
  }
  return length;
}

enum class CharacterWidth : std::uint8_t {
  kSingleByte,
  kDoubleByteHighTrail,
  kDoubleByteAnyTrail,
  kUtf8,
  kUnknown
};

// How many bytes the encodings of Python's standard codecs use for characters above ASCII.
CharacterWidth width_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  static constexpr std::array kUtf8{"utf-8",   "utf8", "utf-8-sig", "u8",
                                    "cp65001", "utf",  "ascii",     "us-ascii"};
  static constexpr std::array kSingle{"latin", "iso-8859", "iso8859", "l1",          "cp125",
                                      "cp437", "cp850",    "cp866",   "windows-125", "koi8",
                                      "mac-",  "kz1048",   "tis-620"};
  static constexpr std::array kHighTrail{"euc", "gb2312", "ujis", "ks-c"};
  static constexpr std::array kAnyTrail{"gbk",  "gb18030", "cp936", "big5", "shift",
                                        "sjis", "cp932",   "cp949", "uhc",  "johab"};
  const auto starts = [&](const char* prefix) { return name.starts_with(prefix); };
  if (std::any_of(kUtf8.begin(), kUtf8.end(), [&](const char* n) { return name == n; }))
    return CharacterWidth::kUtf8;
  if (std::any_of(kSingle.begin(), kSingle.end(), starts)) return CharacterWidth::kSingleByte;
  if (std::any_of(kHighTrail.begin(), kHighTrail.end(), starts))
    return CharacterWidth::kDoubleByteHighTrail;
  if (std::any_of(kAnyTrail.begin(), kAnyTrail.end(), starts))
    return CharacterWidth::kDoubleByteAnyTrail;
  return CharacterWidth::kUnknown;
}

void mask_high_bytes(std::string& view, bool any_trail) {
  for (std::size_t i = 0; i < view.size(); ++i) {
    if (byte_at(view, i) < 0x80U) continue;
    view[i] = '_';
    // In these encodings the second byte may look like ASCII, even like a backslash or a quote.
    if (any_trail && i + 1 < view.size() && view[i + 1] != '\n') view[++i] = '_';
  }
}

}  // namespace

bool is_valid_utf8(std::string_view bytes, std::size_t& first_bad) {
  for (std::size_t i = 0; i < bytes.size();) {
    // Nearly all text is ASCII.
    std::uint64_t eight = 0;
    while (i + sizeof(eight) <= bytes.size()) {
      std::memcpy(&eight, bytes.data() + i, sizeof(eight));
      if ((eight & 0x8080808080808080U) != 0) break;
      i += sizeof(eight);
    }
    if (i == bytes.size()) break;
    const std::size_t length = sequence_length(bytes, i);
    if (length == 0) {
      first_bad = i;
      return false;
    }
    i += length;
  }
  return true;
}

std::string encoding_cookie(std::string_view source) {
  if (source.starts_with("\xEF\xBB\xBF")) source.remove_prefix(3);
  for (int line = 0; line < 2; ++line) {
    const auto end = source.find_first_of("\r\n");
    const std::string_view text = base::trim(source.substr(0, end));
    if (!text.empty() && text.front() != '#') return {};
    if (const auto at = text.find("coding"); !text.empty() && at != std::string_view::npos) {
      std::size_t i = at + 6;
      if (i < text.size() && (text[i] == ':' || text[i] == '=')) {
        ++i;
        while (i < text.size() && (text[i] == ' ' || text[i] == '\t')) ++i;
        std::size_t stop = i;
        while (stop < text.size() &&
               (base::is_identifier_char(text[stop]) || text[stop] == '-' || text[stop] == '.'))
          ++stop;
        if (stop > i) return base::lower(text.substr(i, stop - i));
      }
    }
    if (end == std::string_view::npos) return {};
    const bool pair = source[end] == '\r' && end + 1 < source.size() && source[end + 1] == '\n';
    source.remove_prefix(end + (pair ? 2 : 1));
  }
  return {};
}

base::Result<std::string> parser_view(std::string_view source) {
  if (source.starts_with("\xFF\xFE") || source.starts_with("\xFE\xFF")) {
    return base::fail(ErrorCode::kEncoding,
                      "UTF-16 text; Python reads UTF-8 only: save it as UTF-8");
  }
  if (const auto nul = source.find('\0'); nul != std::string_view::npos) {
    const auto line =
        static_cast<std::uint32_t>(
            std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(nul), '\n')) +
        1;
    return base::fail(ErrorCode::kEncoding, "contains a NUL byte; Python refuses such a file", {},
                      line);
  }
  std::string view(source);
  const std::string cookie = encoding_cookie(source);
  const CharacterWidth width = cookie.empty() ? CharacterWidth::kUtf8 : width_of(cookie);
  if (width == CharacterWidth::kUnknown) {
    return base::fail(ErrorCode::kEncoding,
                      fmt::format("unknown encoding \"{}\" in the coding comment", cookie));
  }
  if (width == CharacterWidth::kUtf8) {
    std::size_t bad = 0;
    if (!is_valid_utf8(source, bad)) {
      const auto line =
          static_cast<std::uint32_t>(
              std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(bad), '\n')) +
          1;
      return base::fail(
          ErrorCode::kEncoding,
          fmt::format("byte 0x{:02x} is not UTF-8, and no coding comment names another encoding",
                      byte_at(source, bad)),
          {}, line);
    }
  } else {
    mask_high_bytes(view, width == CharacterWidth::kDoubleByteAnyTrail);
  }
  for (auto i = view.find('\r'); i != std::string::npos; i = view.find('\r', i + 1)) {
    if (i + 1 == view.size() || view[i + 1] != '\n') view[i] = '\n';
  }
  return view;
}

}  // namespace torchport::syntax
