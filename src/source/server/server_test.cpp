#include "source/server/server.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include <doctest/doctest.h>

namespace torchport {
namespace {

using server::framed;
using server::Json;

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
  Client() : thread_([this] { code_ = server::serve(fs, reader(), writer(), "1.2.3"); }) {}
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
  server::MessageReader::Read reader() {
    return [this](char* into, std::size_t size) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ended_ || !input_.empty(); });
      const std::size_t count = std::min(size, input_.size());
      std::memcpy(into, input_.data(), count);
      input_.erase(0, count);
      return count;
    };
  }
  server::Outgoing::Write writer() {
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

constexpr const char* kFile = "file:///p/a.py";
constexpr const char* kCuda = "import torch\n\nx = torch.zeros(3).cuda()\n";

Json document(const char* uri = kFile) {
  return {{"uri", uri}};
}

TEST_CASE("a document has diagnostics with its version, and none when it is closed") {
  Client client;
  client.start();
  client.open(kFile, kCuda);
  Json found = client.diagnostics(kFile);
  CHECK(found["version"] == 1);
  REQUIRE(found["diagnostics"].size() == 1);
  const Json& first = found["diagnostics"][0];
  CHECK(first["code"] == "TP101");
  CHECK(first["source"] == "torchport");
  CHECK(first["severity"] == 1);
  CHECK(first["range"]["start"] == Json{{"line", 2}, {"character", 19}});
  CHECK(first["range"]["end"] == Json{{"line", 2}, {"character", 25}});
  client.notify("textDocument/didChange",
                {{"textDocument", {{"uri", kFile}, {"version", 2}}},
                 {"contentChanges", Json::array({{{"range", first["range"]}, {"text", ""}}})}});
  found = client.diagnostics(kFile);
  CHECK(found["version"] == 2);
  CHECK(found["diagnostics"].empty());
  client.notify("textDocument/didChange",
                {{"textDocument", {{"uri", kFile}, {"version", 3}}},
                 {"contentChanges", Json::array({{{"text", "x = 1\n"}}})}});
  while ((found = client.diagnostics(kFile))["version"] != 3) {
  }
  CHECK(found["diagnostics"].empty());
  client.notify("textDocument/didClose", {{"textDocument", document()}});
  CHECK(client.diagnostics(kFile)["diagnostics"].empty());
}

TEST_CASE("the end is 0 after shutdown and exit, and 1 otherwise") {
  {
    Client client;
    client.start();
    CHECK(client.answer(1, "shutdown").at("result").is_null());
    CHECK(client.answer(2, "textDocument/hover")["error"]["code"] == -32600);
    client.send({{"jsonrpc", "2.0"}, {"method", "exit"}});
    CHECK(client.end() == 0);
  }
  {
    Client client;
    client.start();
    client.send({{"jsonrpc", "2.0"}, {"method", "exit"}});
    CHECK(client.end() == 1);
  }
  Client client;
  CHECK(client.end() == 1);
}

TEST_CASE("requests come after initialize, which comes once; unknown ones are refused") {
  Client client;
  CHECK(client.answer(1, "textDocument/hover")["error"]["code"] == -32002);
  CHECK(client.answer("two", "nonsense")["error"]["code"] == -32002);
  client.notify("textDocument/didOpen", "nonsense");
  client.start();
  CHECK(client.answer(3, "initialize")["error"]["code"] == -32600);
  CHECK(client.answer(4, "textDocument/nonsense")["error"]["code"] == -32601);
  client.notify("nonsense", nullptr);
  client.notify("$/setTrace", {{"value", "off"}});
  CHECK(client.answer(5, "textDocument/hover", {{"textDocument", document()}})["error"]["code"] ==
        -32602);
  CHECK(client.answer(6, "textDocument/hover", "nonsense")["error"]["code"] == -32602);
  CHECK(client.answer(7, "textDocument/codeAction", nullptr)["error"]["code"] == -32602);
}

TEST_CASE("no message ends the server") {
  Client client;
  client.start();
  for (const char* body :
       {"", "{", "[]", "[{}]", "7", "null", "\"x\"", "{}", "{\"id\": 1}",
        "{\"method\": 7, \"id\": 1}", "{\"method\": \"exit\", \"id\": [1]}",
        "{\"id\": {\"a\": 1}, \"method\": \"shutdown\"}", "{\"id\": 1, \"result\": 3}",
        "{\"id\": \"torchport-1\", \"result\": [[[]]]}"})
    client.send_bytes(framed(body));
  client.send_bytes("Content-Length: nonsense\r\n\r\n");
  client.send_bytes(framed(std::string(100000, '[')));
  for (const char* method :
       {"textDocument/didOpen", "textDocument/didChange", "textDocument/didClose",
        "textDocument/didSave", "notebookDocument/didOpen", "notebookDocument/didChange",
        "notebookDocument/didClose", "workspace/didChangeConfiguration",
        "workspace/didChangeWorkspaceFolders", "workspace/didChangeWatchedFiles", "$/cancelRequest",
        "initialized"}) {
    for (const char* params :
         {"null", "[]", "{}", "7", "{\"textDocument\": null}", "{\"textDocument\": {\"uri\": 7}}",
          "{\"textDocument\": {\"uri\": \"\"}}", "{\"settings\": 7}", "{\"event\": []}",
          "{\"changes\": {\"a\": {\"uri\": \"\"}}}", "{\"changes\": 7}",
          R"({"notebookDocument": {"uri": "n"}, "change": {"cells": {"structure": {"array":
              {"start": 99, "deleteCount": 99}}}}})",
          R"({"textDocument": {"uri": "file:///p/b.py", "version": null},
              "contentChanges": [{}]})"})
      client.notify(method, Json::parse(params));
  }
  client.open(kFile, kCuda);
  CHECK(client.diagnostics(kFile)["diagnostics"].size() == 1);
}

TEST_CASE("edits outside of the document, or of one that is not open, are survived") {
  Client client;
  client.start();
  const auto change = [&](const char* uri, int version, const char* range) {
    client.notify(
        "textDocument/didChange",
        {{"textDocument", {{"uri", uri}, {"version", version}}},
         {"contentChanges", Json::array({{{"range", Json::parse(range)}, {"text", "#"}}})}});
  };
  change("file:///p/other.py", 1,
         R"({"start": {"line":0,"character":0},"end":{"line":0,"character":0}})");
  client.open(kFile, kCuda);
  change(
      kFile, 2,
      R"({"start": {"line":99,"character":99},"end":{"line":4294967295,"character":4294967295}})");
  change(kFile, 3, R"({"start": {"line":-5,"character":-5},"end":{"line":-1,"character":0}})");
  change(kFile, 4, R"({"start": {"line":1e99,"character":0.5},"end":{"line":0,"character":0}})");
  Json found;
  while ((found = client.diagnostics(kFile))["version"] != 4) {
  }
  CHECK(found["diagnostics"].empty());  // the last one replaced everything from the start on
}

TEST_CASE("a client that offers UTF-8 gets columns in bytes") {
  const std::string text = "import torch\ns = '😀é'; x = torch.zeros(3).cuda()\n";
  for (const bool utf8 : {false, true}) {
    Client client;
    client.start(utf8 ? Json{{"general", {{"positionEncodings", {"utf-16", "utf-8"}}}}}
                      : Json::object());
    client.open(kFile, text);
    const Json found = client.diagnostics(kFile);
    REQUIRE(found["diagnostics"].size() == 1);
    CHECK(found["diagnostics"][0]["range"]["start"]["character"] == (utf8 ? 33 : 30));
  }
}

TEST_CASE("a client that only pulls gets nothing pushed, one that does both gets all pushed") {
  Client client;
  client.start({{"textDocument", {{"diagnostic", Json::object()}}}});
  client.open(kFile, kCuda);
  client.ask(1, "textDocument/diagnostic", {{"textDocument", document()}});
  const Json answer = client.receive();
  REQUIRE(answer.contains("result"));
  CHECK(answer["result"]["kind"] == "full");
  CHECK(answer["result"]["items"].size() == 1);
  Client both;
  both.start(
      {{"textDocument", {{"diagnostic", Json::object()}, {"publishDiagnostics", Json::object()}}}});
  both.open(kFile, kCuda);
  CHECK(both.diagnostics(kFile)["diagnostics"].size() == 1);
}

TEST_CASE("what the project excludes or check does not read has no diagnostics") {
  Client client;
  client.fs.add("/p/pyproject.toml",
                "[tool.torchport]\nexclude = [\"vendor/\"]\n[tool.torchport.per-file-ignores]\n"
                "\"old/*\" = [\"TP101\"]\n");
  client.fs.add("/p/.git/HEAD", "");
  client.fs.add("/p/.gitignore", "generated.py\n");
  client.fs.add("/p/x/.gitignore", "*\n");
  client.start();
  const auto count = [&](const char* uri, const char* language = "python") {
    client.open(uri, kCuda, language);
    return client.diagnostics(uri)["diagnostics"].size();
  };
  CHECK(count("file:///p/a.py") == 1);
  CHECK(count("file:///p/vendor/a.py") == 0);
  CHECK(count("file:///p/old/a.py") == 0);
  CHECK(count("file:///p/generated.py") == 0);
  CHECK(count("file:///p/x/a.py") == 0);
  CHECK(count("file:///p/.venv/a.py") == 0);
  CHECK(count("file:///p/notes.md", "markdown") == 0);
  CHECK(count("file:///p/n.ipynb", "json") == 0);
  CHECK(count("file:///elsewhere/a.py") == 1);  // in no folder: as if it was named
  CHECK(count("untitled:Untitled-1") == 1);
}

TEST_CASE("settings that change are used at once, and broken ones are shown") {
  Client client;
  client.fs.add("/p/torchport.toml", "ignore = [\"TP101\"]\n");
  client.start();
  client.open(kFile, kCuda);
  CHECK(client.diagnostics(kFile)["diagnostics"].empty());
  client.fs.add("/p/torchport.toml", "");
  client.notify("workspace/didChangeWatchedFiles",
                {{"changes", Json::array({{{"uri", "file:///p/torchport.toml"}, {"type", 2}}})}});
  CHECK(client.diagnostics(kFile)["diagnostics"].size() == 1);
  client.notify("workspace/didChangeConfiguration",
                {{"settings", {{"torchport", {{"ignore", {"TP101"}}}}}}});
  CHECK(client.diagnostics(kFile)["diagnostics"].empty());
  client.notify("workspace/didChangeConfiguration",
                {{"settings", {{"torchport", {{"ignroe", Json::array()}}}}}});
  const Json message = client.receive();
  CHECK(message["method"] == "window/showMessage");
  CHECK(message["params"]["message"].get<std::string>().find("did you mean \"ignore\"") !=
        std::string::npos);
  client.fs.add("/p/torchport.toml", "slect = []\n");
  client.notify("textDocument/didSave", {{"textDocument", {{"uri", "file:///p/torchport.toml"}}}});
  while (true) {
    const Json shown = client.receive();
    if (shown["method"] != "window/showMessage") continue;
    CHECK(shown["params"]["message"].get<std::string>().find("/p/torchport.toml:1: unknown key") !=
          std::string::npos);
    break;
  }
}

TEST_CASE("a request that is cancelled is answered once, as cancelled or with its result") {
  Client client;
  client.start();
  std::string text = kCuda;
  for (int i = 0; i < 500; ++i) text += "y = torch.zeros(3).cuda()\n";
  client.open(kFile, text);
  const Json range{{"start", {{"line", 0}, {"character", 0}}},
                   {"end", {{"line", 900}, {"character", 0}}}};
  for (int id = 1; id <= 20; ++id) {
    client.ask(id, "textDocument/codeAction",
               {{"textDocument", document()}, {"range", range}, {"context", Json::object()}});
    client.notify("$/cancelRequest", {{"id", id}});
  }
  int answers = 0;
  int cancelled = 0;
  while (answers < 20) {
    const Json message = client.receive();
    if (!message.contains("id")) continue;
    ++answers;
    if (message.contains("error")) {
      CHECK(message["error"]["code"] == -32800);
      ++cancelled;
    }
  }
  CHECK(cancelled >= 18);
}

TEST_CASE("a file that cannot be checked is logged, one that is being typed is not") {
  Client client;
  client.fs.add("/p/pyproject.toml", "");
  client.start();
  client.open(kFile, "import torch\nx = (\n");
  CHECK(client.receive()["method"] == "textDocument/publishDiagnostics");
  client.open("file:///p/nul.py", std::string("import torch\n\0\n", 15));
  const Json logged = client.receive();
  CHECK(logged["method"] == "window/logMessage");
  CHECK(logged["params"]["message"].get<std::string>().starts_with("nul.py: "));
}

TEST_CASE("the whole project is checked if the client wants it, with progress") {
  Client client;
  client.fs.add("/p/a.py", kCuda);
  client.fs.add("/p/b.py", "import torch\n");
  client.start({{"window", {{"workDoneProgress", true}}}}, {{"wholeProject", true}});
  bool ended = false;
  std::size_t found = 0;
  while (!ended) {
    const Json message = client.receive();
    const std::string method = message.value("method", "");
    if (method == "textDocument/publishDiagnostics") {
      CHECK(message["params"]["uri"] == "file:///p/a.py");
      found += message["params"]["diagnostics"].size();
    }
    ended = method == "$/progress" && message["params"]["value"]["kind"] == "end";
  }
  CHECK(found == 1);
  // What is open counts, until it is closed; what changes on the disk is read again.
  client.open("file:///p/a.py", "x = 1\n");
  CHECK(client.diagnostics("file:///p/a.py")["diagnostics"].empty());
  client.notify("textDocument/didClose", {{"textDocument", document("file:///p/a.py")}});
  while (client.diagnostics("file:///p/a.py")["diagnostics"].empty()) {
  }
  client.fs.add("/p/b.py", kCuda);
  client.notify("workspace/didChangeWatchedFiles",
                {{"changes", Json::array({{{"uri", "file:///p/b.py"}, {"type", 2}}})}});
  CHECK(client.diagnostics("file:///p/b.py")["diagnostics"].size() == 1);
  client.notify("workspace/didChangeConfiguration",
                {{"settings", {{"torchport", {{"wholeProject", false}}}}}});
  CHECK(client.diagnostics("file:///p/b.py")["diagnostics"].empty());
}

}  // namespace
}  // namespace torchport
