// Reads and writes JSON-RPC 2.0, as the language server protocol uses it: one message, no batches.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

namespace torchport::server {

using Json = nlohmann::json;

// The codes that this server uses, of JSON-RPC and of the protocol.
enum class RpcError : int {
  kParse = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternal = -32603,
  kNotInitialized = -32002,
  kRequestFailed = -32803,
  kContentModified = -32801,
  kCancelled = -32800,
};

struct Failure {
  RpcError code = RpcError::kInternal;
  std::string message;
};
// What a method returns: its result, or why there is none.
using Answer = tl::expected<Json, Failure>;

// Parses a message's body. Fails with kParse for what is not JSON, or nested more than 200 deep:
// the JSON library copies and destroys recursively. Half of a surrogate pair, which an editor may
// send while a character is typed, becomes U+FFFD.
[[nodiscard]] Answer parse_message(std::string body);

// Writes messages to the client. Thread safe.
class Outgoing {
 public:
  // Writes a framed message. Returns false if the client has gone.
  using Write = std::function<bool(std::string_view message)>;
  using Reply = std::function<void(const Json& result)>;

  explicit Outgoing(Write write) : write_(std::move(write)) {}

  void respond(const Json& id, const Answer& answer);
  void notify(std::string_view method, Json params);
  // Sends a request. `reply` is called with the result, on the thread that passes it to replied().
  void request(std::string_view method, Json params, Reply reply = {});
  // Takes the client's response to a request. An error counts as null.
  void replied(const Json& response);
  // Whether a write failed.
  [[nodiscard]] bool is_broken() const { return broken_; }

 private:
  void send(const Json& message);

  Write write_;
  std::mutex mutex_;
  std::atomic<bool> broken_{false};
  int requests_ = 0;
  std::map<std::string, Reply> waiting_;
};

}  // namespace torchport::server
