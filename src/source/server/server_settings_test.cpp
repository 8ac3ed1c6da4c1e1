#include "source/server/client_of_tests.h"

namespace torchport::server {
namespace {

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
}  // namespace torchport::server
