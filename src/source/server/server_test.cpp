#include "source/server/client_of_tests.h"

namespace torchport::server {
namespace {

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

}  // namespace
}  // namespace torchport::server
