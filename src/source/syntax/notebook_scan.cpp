// Finds the source strings of code cells in the JSON text, with their offsets. The text is known to
// be valid JSON, so the scan only has to track the nesting.
#include "source/syntax/notebook_scan.h"

#include <cstdint>

namespace torchport::syntax {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80U) {
    out += static_cast<char>(code);
  } else if (code < 0x800U) {
    out += static_cast<char>(0xC0U | (code >> 6U));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  } else if (code < 0x10000U) {
    out += static_cast<char>(0xE0U | (code >> 12U));
    out += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  } else {
    out += static_cast<char>(0xF0U | (code >> 18U));
    out += static_cast<char>(0x80U | ((code >> 12U) & 0x3FU));
    out += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  }
}

std::uint32_t four_hex(std::string_view text, std::size_t at) {
  std::uint32_t code = 0;
  for (std::size_t i = at; i < at + 4 && i < text.size(); ++i)
    code = code * 16 + (static_cast<std::uint32_t>(hex_digit(text[i])) & 0xFU);
  return code;
}

}  // namespace

std::size_t decode_one(std::string_view raw, std::size_t at, std::string& out) {
  if (raw[at] != '\\' || at + 1 >= raw.size()) {
    out += raw[at];
    return at + 1;
  }
  switch (raw[at + 1]) {
    case 'n':
      out += '\n';
      return at + 2;
    case 't':
      out += '\t';
      return at + 2;
    case 'r':
      out += '\r';
      return at + 2;
    case 'b':
      out += '\b';
      return at + 2;
    case 'f':
      out += '\f';
      return at + 2;
    case 'u': {
      std::uint32_t code = four_hex(raw, at + 2);
      std::size_t next = at + 6;
      if (code >= 0xD800U && code < 0xDC00U && next + 6 <= raw.size() && raw[next] == '\\' &&
          raw[next + 1] == 'u') {
        code = 0x10000U + ((code - 0xD800U) << 10U) + (four_hex(raw, next + 2) - 0xDC00U);
        next += 6;
      }
      append_utf8(out, code);
      return next;
    }
    default:
      out += raw[at + 1];
      return at + 2;
  }
}

std::string decode_json_string(std::string_view raw) {
  std::string text;
  for (std::size_t at = 0; at < raw.size();) at = decode_one(raw, at, text);
  return text;
}

namespace {

// An object or a list around the place of the scan.
struct Frame {
  bool object = false;
  std::string key;
  bool is_code = false;
  bool has_source = false;
  SourceValue source;
};

bool names_source(std::string_view key) {
  return key == "source" || key == "input";
}

// The string that opens here, between its quotes.
base::Span string_at(std::string_view json, std::size_t open) {
  std::size_t close = open + 1;
  while (close < json.size() && json[close] != '"') close += json[close] == '\\' ? 2 : 1;
  return {static_cast<std::uint32_t>(open + 1), static_cast<std::uint32_t>(close)};
}

void take_key(std::string_view json, base::Span text, Frame& frame) {
  frame.key = json.substr(text.start, text.size());
  // A list of strings under "source" is recorded when it opens.
  const std::size_t value = json.find_first_not_of(" \t\r\n:", text.end + 1);
  if (names_source(frame.key) && value != std::string_view::npos && json[value] == '[') {
    frame.has_source = true;
    frame.source = {};
    frame.source.is_list = true;
    frame.source.value.start = static_cast<std::uint32_t>(value);
  }
}

// Takes a string that is the value of a key or an item of a list.
void take_value(std::string_view json, base::Span text, std::vector<Frame>& stack) {
  if (!stack.empty() && stack.back().object) {
    Frame& frame = stack.back();
    if (frame.key == "cell_type") frame.is_code = json.substr(text.start, text.size()) == "code";
    if (names_source(frame.key)) {
      frame.has_source = true;
      frame.source = {{text.start - 1, text.end + 1}, false, {text}};
    }
  } else if (stack.size() > 1) {
    Frame& holder = stack[stack.size() - 2];
    const bool inside = holder.object && holder.has_source && holder.source.is_list &&
                        holder.source.value.end == 0 && names_source(holder.key);
    if (inside) holder.source.items.push_back(text);
  }
}

}  // namespace

// The text is known to be valid JSON, so the scan only has to keep count.
std::vector<SourceValue> scan_code_cells(std::string_view json) {
  std::vector<SourceValue> found;
  std::vector<Frame> stack;
  bool expect_key = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    switch (json[i]) {
      case '{':
        stack.push_back({});
        stack.back().object = true;
        expect_key = true;
        break;
      case '[':
        stack.push_back({});
        expect_key = false;
        break;
      case '}':
        if (!stack.empty()) {
          if (stack.back().is_code && stack.back().has_source)
            found.push_back(std::move(stack.back().source));
          stack.pop_back();
        }
        break;
      case ']':
        if (!stack.empty()) stack.pop_back();
        if (!stack.empty() && stack.back().object && stack.back().has_source &&
            stack.back().source.is_list && stack.back().source.value.end == 0) {
          stack.back().source.value.end = static_cast<std::uint32_t>(i + 1);
        }
        break;
      case ',':
        expect_key = !stack.empty() && stack.back().object;
        break;
      case '"': {
        const base::Span text = string_at(json, i);
        if (!stack.empty() && stack.back().object && expect_key) {
          take_key(json, text, stack.back());
          expect_key = false;
        } else {
          take_value(json, text, stack);
        }
        i = text.end;
        break;
      }
      default:
        break;
    }
  }
  return found;
}

}  // namespace torchport::syntax
