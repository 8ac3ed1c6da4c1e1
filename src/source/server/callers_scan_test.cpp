#include <set>

#include "source/server/client_of_tests.h"

namespace torchport::server {
namespace {

constexpr const char* kHelper = "import torch\ndef work(x):\n    return x.cuda()\n";
constexpr const char* kGuarded =
    "import torch\nfrom helper import work\nif torch.cuda.is_available():\n    work(1)\n";
constexpr const char* kHelperUri = "file:///p/helper.py";
constexpr const char* kMainUri = "file:///p/main.py";

// Waits until a document has this many diagnostics.
void wait_for(Client& client, const std::string& uri, std::size_t count) {
  while (client.diagnostics(uri)["diagnostics"].size() != count) {
  }
}

void save(Client& client, const std::string& path, const std::string& text) {
  client.fs.add(path, text);
  client.notify("textDocument/didSave", {{"textDocument", {{"uri", "file://" + path}}}});
}

TEST_CASE("callers in other files count, as they were saved last") {
  Client client;
  client.fs.add("/p/helper.py", kHelper);
  client.fs.add("/p/main.py", kGuarded);
  client.start();
  client.open(kHelperUri, kHelper);
  wait_for(client, kHelperUri, 0);
  save(client, "/p/main.py", "import torch\nfrom helper import work\nwork(1)\n");
  wait_for(client, kHelperUri, 1);
  save(client, "/p/main.py", kGuarded);
  wait_for(client, kHelperUri, 0);
  // A file without facts may call what it mentions.
  client.fs.add("/p/other.py", "import helper\nhelper.work(2)\n");
  client.notify("workspace/didChangeWatchedFiles",
                {{"changes", Json::array({{{"uri", "file:///p/other.py"}, {"type", 1}}})}});
  wait_for(client, kHelperUri, 1);
}

TEST_CASE("a fix is not safe if a program that runs the file chooses its devices later") {
  Client client;
  const std::string model = "import torch\nx = torch.zeros(3, device=\"cuda\")\n";
  const std::string main =
      "import os\nimport torch\nimport pkg.user\ndef main(gpus):\n"
      "    os.environ[\"CUDA_VISIBLE_DEVICES\"] = gpus\n";
  client.fs.add("/p/pkg/model.py", model);
  client.fs.add("/p/pkg/user.py", "from . import model\n");  // without a word on torch
  client.fs.add("/p/main.py", main);
  client.start();
  client.open("file:///p/pkg/model.py", model);
  int id = 10;
  const auto fixes_all = [&] {
    return !client
                .answer(++id, "textDocument/codeAction",
                        {{"textDocument", {{"uri", "file:///p/pkg/model.py"}}},
                         {"range", Json::parse(R"({"start": {"line": 0, "character": 0},
                                                   "end": {"line": 2, "character": 0}})")},
                         {"context",
                          {{"diagnostics", Json::array()},
                           {"only", Json::array({"source.fixAll"})}}}})["result"]
                .empty();
  };
  while (fixes_all()) {
  }
  save(client, "/p/pkg/user.py", "from . import other\n");
  while (!fixes_all()) {
  }
}

TEST_CASE("who imports a file counts, also without a word on torch") {
  Client client;
  const std::string ops =
      "import cupy\nimport torch\ndef warp(x):\n    return cupy.asarray(x.numpy())\n";
  client.fs.add("/p/ops.py", ops);
  client.fs.add("/p/net.py",
                "import torch\ntry:\n    from ops import warp\nexcept ImportError:\n"
                "    warp = None\n");
  client.start();
  client.open("file:///p/ops.py", ops);
  wait_for(client, "file:///p/ops.py", 0);
  save(client, "/p/start.py", "import ops\n");
  wait_for(client, "file:///p/ops.py", 1);
}

TEST_CASE("settings that exclude a caller take it away") {
  Client client;
  client.fs.add("/p/helper.py", kHelper);
  client.fs.add("/p/main.py", kGuarded);
  client.fs.add("/p/old.py", "import torch\nfrom helper import work\nwork(1)\n");
  client.start();
  client.open(kHelperUri, kHelper);
  wait_for(client, kHelperUri, 1);
  save(client, "/p/torchport.toml", "exclude = [\"old.py\"]\n");
  wait_for(client, kHelperUri, 0);
}

TEST_CASE("a hover names the line of another file that decides the device") {
  Client client;
  client.fs.add("/p/pkg/loader.py",
                "import torch\ndef load():\n    x = torch.zeros(3)\n    return x.cuda()\n");
  const std::string text =
      "import torch\nfrom pkg.loader import load\nx = load()\ny = x.view(1)\nz = x.cpu()\nw = y\n";
  client.fs.add("/p/main.py", text);
  client.start({}, {{"inlayHints", "cuda"}});
  client.open(kMainUri, text);
  const auto hover = [&](int line, int id) {
    return client
        .answer(id, "textDocument/hover",
                {{"textDocument", {{"uri", kMainUri}}},
                 {"position", {{"line", line}, {"character", 0}}}})["result"]
        .dump();
  };
  int id = 10;
  while (hover(2, ++id).find("pkg/loader.py:4") == std::string::npos) {
  }
  CHECK(hover(2, ++id).find("on **cuda**") != std::string::npos);
  CHECK(hover(3, ++id).find("pkg/loader.py:4") != std::string::npos);
  CHECK(hover(4, ++id).find("pkg/loader.py:4") == std::string::npos);
  CHECK(hover(5, ++id).find("pkg/loader.py:4") != std::string::npos);
  const Json hints = client.answer(
      5, "textDocument/inlayHint",
      {{"textDocument", {{"uri", kMainUri}}},
       {"range",
        {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 9}, {"character", 0}}}}}});
  REQUIRE(hints["result"].size() == 3);
  CHECK(hints["result"][0]["label"] == ": cuda | from loader.py:4");
}

}  // namespace
}  // namespace torchport::server
