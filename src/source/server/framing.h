// Cuts a stream of bytes into the messages of the language server protocol: headers, an empty line,
// and as many bytes as Content-Length says.
//
// Debian's libraries of JSON-RPC do not fit: libjsonrpccpp has no such headers, jsonrpc-glib wants
// GLib's main loop, and qt6-languageserver is private to Qt.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace torchport::server {

// The longest message. A longer one is read and dropped.
constexpr std::size_t kMaxMessage = std::size_t{256} << 20U;  // bytes
// The longest block of headers.
constexpr std::size_t kMaxHeaders = std::size_t{16} << 10U;  // bytes

class MessageReader {
 public:
  // Reads up to `size` bytes and returns how many; 0 at the end of the stream.
  using Read = std::function<std::size_t(char* into, std::size_t size)>;

  explicit MessageReader(Read read) : read_(std::move(read)) {}

  // Waits for the next message and returns its body; none at the end of the stream, also in the
  // middle of a message. Fails with kSyntax for headers without a valid length and with kBudget for
  // a message that is too long. Either is left behind, so that the next call goes on after it.
  [[nodiscard]] base::Result<std::optional<std::string>> next();

 private:
  bool fill();
  [[nodiscard]] std::optional<std::string> headers();
  bool skip(std::size_t size);

  Read read_;
  std::string buffer_;
  std::size_t at_ = 0;  // the first byte of the buffer that was not used yet
};

// The message with its header.
[[nodiscard]] std::string framed(std::string_view body);

}  // namespace torchport::server
