// A client in the process of a test, which talks to a server on another thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "source/server/server.h"

namespace torchport::server {

// A file system that a test changes while the server reads it.
class SharedFiles final : public base::FileSystem {
 public:
  void add(const std::string& path, std::string content) {
    const std::lock_guard lock(mutex_);
    files_.add(path, std::move(content));
  }
  [[nodiscard]] base::Result<std::string> read(const std::string& path) const override {
    const std::lock_guard lock(mutex_);
    return files_.read(path);
  }
  [[nodiscard]] base::FileStatus status(const std::string& path, bool follow) const override {
    const std::lock_guard lock(mutex_);
    return files_.status(path, follow);
  }
  [[nodiscard]] base::Result<std::vector<base::DirectoryEntry>> list(
      const std::string& path) const override {
    const std::lock_guard lock(mutex_);
    return files_.list(path);
  }
  [[nodiscard]] base::Result<std::string> canonical(const std::string& path) const override {
    const std::lock_guard lock(mutex_);
    return files_.canonical(path);
  }
  [[nodiscard]] base::Result<void> write_atomic(const std::string& path, std::string_view,
                                                std::uint32_t) override {
    return base::fail(base::ErrorCode::kIo, "the server writes nothing", path);
  }
  [[nodiscard]] base::Result<void> create(const std::string& path, std::string_view,
                                          std::uint32_t) override {
    return base::fail(base::ErrorCode::kIo, "the server writes nothing", path);
  }
  [[nodiscard]] base::Result<void> copy_attributes(const std::string& from,
                                                   const std::string&) override {
    return base::fail(base::ErrorCode::kIo, "the server writes nothing", from);
  }
  [[nodiscard]] base::Result<void> rename(const std::string& from, const std::string&) override {
    return base::fail(base::ErrorCode::kIo, "the server writes nothing", from);
  }
  [[nodiscard]] base::Result<void> sync(const std::vector<std::string>&) override { return {}; }
  [[nodiscard]] base::Result<void> make_directories(const std::string& path) override {
    return base::fail(base::ErrorCode::kIo, "the server writes nothing", path);
  }
  [[nodiscard]] base::Result<void> remove(const std::string& path) override {
    return base::fail(base::ErrorCode::kIo, "the server writes nothing", path);
  }

 private:
  mutable std::mutex mutex_;
  base::MemoryFileSystem files_;
};

// A client that talks to a server in this process.
class Client {
 public:
  Client() : thread_([this] { code_ = serve(fs, reader(), writer(), "1.2.3"); }) {}
  ~Client() {
    if (thread_.joinable()) end();
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  SharedFiles fs;

  void send_bytes(const std::string& bytes) {
    const std::lock_guard lock(mutex_);
    input_ += bytes;
    changed_.notify_all();
  }
  void send(const Json& message) { send_bytes(framed(message.dump())); }
  void notify(const char* method, Json params) {
    send({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
  }
  void ask(const Json& id, const char* method, Json params = Json::object()) {
    send({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}});
  }
  // The next message of the server; fails the test after a minute.
  Json receive() {
    std::unique_lock lock(mutex_);
    const bool came =
        changed_.wait_for(lock, std::chrono::minutes(1), [&] { return !output_.empty(); });
    REQUIRE(came);
    const Json message = Json::parse(output_.front());
    output_.pop_front();
    return message;
  }
  // The answer to a request; what comes before it is dropped.
  Json answer(const Json& id, const char* method, Json params = Json::object()) {
    ask(id, method, std::move(params));
    while (true) {
      Json message = receive();
      if (message.contains("id") && message["id"] == id) return message;
    }
  }
  // The next diagnostics of a document.
  Json diagnostics(const std::string& uri) {
    while (true) {
      Json message = receive();
      if (message.value("method", "") == "textDocument/publishDiagnostics" &&
          message["params"]["uri"] == uri)
        return message["params"];
    }
  }
  void start(Json capabilities = Json::object(), Json options = nullptr) {
    answer(0, "initialize",
           {{"capabilities", std::move(capabilities)},
            {"workspaceFolders", Json::array({{{"uri", "file:///p"}, {"name", "p"}}})},
            {"initializationOptions", std::move(options)}});
    notify("initialized", Json::object());
  }
  void open(const std::string& uri, const std::string& text, const char* language = "python") {
    notify("textDocument/didOpen",
           {{"textDocument",
             {{"uri", uri}, {"languageId", language}, {"version", 1}, {"text", text}}}});
  }
  // Ends the stream and returns the exit code.
  int end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    }
    thread_.join();
    return code_;
  }

 private:
  MessageReader::Read reader() {
    return [this](char* into, std::size_t size) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ended_ || !input_.empty(); });
      const std::size_t count = std::min(size, input_.size());
      std::copy_n(input_.data(), count, into);
      input_.erase(0, count);
      return count;
    };
  }
  Outgoing::Write writer() {
    return [this](std::string_view message) {
      const std::lock_guard lock(mutex_);
      output_.emplace_back(message.substr(message.find("\r\n\r\n") + 4));
      changed_.notify_all();
      return true;
    };
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string input_;
  std::deque<std::string> output_;
  bool ended_ = false;
  int code_ = -1;
  std::thread thread_;
};

inline constexpr const char* kFile = "file:///p/a.py";
inline constexpr const char* kCuda = "import torch\n\nx = torch.zeros(3).cuda()\n";

inline Json document(const char* uri = kFile) {
  return {{"uri", uri}};
}

}  // namespace torchport::server
