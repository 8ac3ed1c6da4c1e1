#include "source/server/framing.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/text.h"

namespace torchport::server {

namespace {

// Lengths above this are no lengths.
constexpr std::size_t kAbsurd = std::size_t{1} << 50U;

std::optional<std::size_t> content_length(std::string_view headers) {
  std::optional<std::size_t> found;
  for (const std::string_view line : base::split(headers, '\n')) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos ||
        base::lower(base::trim(line.substr(0, colon))) != "content-length")
      continue;
    const std::string_view text = base::trim(line.substr(colon + 1));
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (error != std::errc() || end != text.data() + text.size() || length > kAbsurd)
      return std::nullopt;
    found = length;
  }
  return found;
}

}  // namespace

bool MessageReader::fill() {
  std::array<char, 65536> block{};
  const std::size_t size = read_(block.data(), block.size());
  if (size == 0) return false;
  if (at_ > 0) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  buffer_.append(block.data(), size);
  return true;
}

// The headers up to the empty line; none at the end of the stream. More than kMaxHeaders are cut.
std::optional<std::string> MessageReader::headers() {
  std::string found;
  std::string line;
  while (true) {
    while (at_ < buffer_.size()) {
      const char c = buffer_[at_++];
      if (c != '\n') {
        if (line.size() < kMaxHeaders) line += c;
        continue;
      }
      if (line.ends_with('\r')) line.pop_back();
      // An empty line ends the headers. Before them it is left over from something else.
      if (line.empty() && !found.empty()) return found;
      if (!line.empty() && found.size() < kMaxHeaders) found += line + '\n';
      line.clear();
    }
    if (!fill()) return std::nullopt;
  }
}

bool MessageReader::skip(std::size_t size) {
  while (true) {
    const std::size_t here = std::min(size, buffer_.size() - at_);
    at_ += here;
    size -= here;
    if (size == 0) return true;
    if (!fill()) return false;
  }
}

base::Result<std::optional<std::string>> MessageReader::next() {
  const auto found = headers();
  if (!found) return std::optional<std::string>();
  const auto length = content_length(*found);
  if (!length) return base::fail(base::ErrorCode::kSyntax, "a message has no valid Content-Length");
  if (*length > kMaxMessage) {
    if (!skip(*length)) return std::optional<std::string>();
    return base::fail(base::ErrorCode::kBudget,
                      fmt::format("a message is longer than {} bytes", kMaxMessage));
  }
  while (buffer_.size() - at_ < *length)
    if (!fill()) return std::optional<std::string>();
  std::string body = buffer_.substr(at_, *length);
  at_ += *length;
  return std::optional<std::string>(std::move(body));
}

std::string framed(std::string_view body) {
  return fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
}

}  // namespace torchport::server
