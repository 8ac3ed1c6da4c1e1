#include "source/server/json_rpc.h"

#include <vector>

#include <doctest/doctest.h>

namespace torchport {
namespace {

using server::Json;
using server::Outgoing;
using server::parse_message;

TEST_CASE("what is no JSON is a parse error") {
  for (const char* text : {"", "{", "nonsense", "{\"a\": 1} x", "\"\xFF\"", "[1,]"}) {
    const auto message = parse_message(text);
    REQUIRE_FALSE(message.has_value());
    CHECK(message.error().code == server::RpcError::kParse);
  }
}

TEST_CASE("nesting is bounded, brackets in strings do not count") {
  CHECK_FALSE(parse_message(std::string(1000000, '[')).has_value());
  CHECK_FALSE(parse_message(std::string(201, '[') + std::string(201, ']')).has_value());
  CHECK(parse_message(std::string(200, '[') + std::string(200, ']')).has_value());
  CHECK(parse_message("\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\"")
            .has_value());
}

TEST_CASE("half of a surrogate pair becomes U+FFFD, whole ones stay") {
  const auto text = [](const char* json) { return parse_message(json).value().get<std::string>(); };
  CHECK(text(R"("a\ud83db")") ==
        "a\xEF\xBF\xBD"
        "b");
  CHECK(text(R"("\ude00")") == "\xEF\xBF\xBD");
  CHECK(text(R"("\ud83d\ude00\ud83d")") == "😀\xEF\xBF\xBD");
  CHECK(text(R"("\\ud83d\ud83d")") == "\\ud83d\xEF\xBF\xBD");
  CHECK(text(R"("\ud83d\ud83d\ude00")") == "\xEF\xBF\xBD😀");
}

TEST_CASE("responses reach the question they answer, once") {
  std::vector<std::string> sent;
  Outgoing client([&](std::string_view message) {
    sent.emplace_back(message);
    return true;
  });
  Json got;
  client.request("workspace/configuration", Json::object(),
                 [&](const Json& answer) { got = answer; });
  REQUIRE(sent.size() == 1);
  const Json message = Json::parse(sent[0].substr(sent[0].find('{')));
  client.replied({{"id", 7}, {"result", 1}});
  client.replied({{"id", "other"}, {"result", 1}});
  CHECK(got.is_null());
  client.replied({{"id", message.at("id")}, {"result", 42}});
  CHECK(got == 42);
  client.replied({{"id", message.at("id")}, {"result", 43}});
  CHECK(got == 42);
}

TEST_CASE("text that is not UTF-8 is sent as U+FFFD, and a client that has gone gets no more") {
  int calls = 0;
  Outgoing client([&](std::string_view message) {
    CHECK(message.find("\xEF\xBF\xBD") != std::string_view::npos);
    ++calls;
    return false;
  });
  client.notify("x", {{"text", "\xFF"}});
  CHECK(client.is_broken());
  client.notify("x", {{"text", "\xFF"}});
  CHECK(calls == 1);
}

}  // namespace
}  // namespace torchport
