#include "json/members.h"

#include <cstdint>

#include <doctest/doctest.h>

namespace torchport::json {

struct Inner {
  std::string name;
  std::uint64_t size = 7;
  bool on = false;
  bool operator==(const Inner&) const = default;
};
template <class Visit>
void members(Inner& inner, Visit&& visit) {
  visit("name", inner.name);
  visit("size", inner.size);
  visit("on", inner.on);
}

struct Outer {
  std::vector<Inner> list;
  std::map<std::string, std::string> words;
  bool operator==(const Outer&) const = default;
};
template <class Visit>
void members(Outer& outer, Visit&& visit) {
  visit("list", outer.list);
  visit("words", outer.words);
}

TEST_CASE("what is written is read again, members in their order") {
  Outer outer{{{"b", 1, true}, {"a", 2, false}}, {{"z", "1"}}};
  const std::string text = text_of(written(outer), -1);
  CHECK(text == R"({"list":[{"name":"b","size":1,"on":true},{"name":"a","size":2,"on":false}],)"
                R"("words":{"z":"1"}})");
  CHECK(read_document<Outer>(text, "inner", "a test").value() == outer);
  CHECK(read_document<Outer>("{\"inner\": " + text + "}", "inner", "a test").value() == outer);
  CHECK(text_of(Json("\xff"), -1) == "\"\xef\xbf\xbd\"");
}

struct Perhaps {
  std::optional<std::string> text;
  std::vector<std::optional<bool>> answers;
  bool operator==(const Perhaps&) const = default;
};
template <class Visit>
void members(Perhaps& perhaps, Visit&& visit) {
  visit("text", perhaps.text);
  visit("answers", perhaps.answers);
}

TEST_CASE("a value that is not there is null") {
  Perhaps perhaps{std::nullopt, {true, std::nullopt}};
  const std::string text = text_of(written(perhaps), -1);
  CHECK(text == R"({"text":null,"answers":[true,null]})");
  CHECK(read_document<Perhaps>(text, "x", "a test").value() == perhaps);
  perhaps.text = "here";
  CHECK(read_document<Perhaps>(text_of(written(perhaps), -1), "x", "a test").value() == perhaps);
  CHECK(read_document<Perhaps>(R"({"text": 1})", "x", "a test").error().message ==
        "\"text\" has the wrong type");
}

TEST_CASE("missing members keep their value, unknown ones are ignored") {
  const auto read = read_document<Outer>(R"({"list": [{"more": 1}], "other": []})", "x", "a test");
  CHECK(read.value() == Outer{{{"", 7, false}}, {}});
}

TEST_CASE("a member of another type is named by its path") {
  const auto wrong = [](const char* text) {
    return read_document<Outer>(text, "x", "a test").error().message;
  };
  CHECK(wrong("[]") == "is not a JSON object of a test");
  CHECK(wrong("{") == "is not a JSON object of a test");
  CHECK(wrong(R"({"list": {}})") == "\"list\" has the wrong type");
  CHECK(wrong(R"({"list": [{}, {"name": 1}]})") == "\"list[1].name\" has the wrong type");
  for (const char* size : {"-1", "1.5", "true", "\"1\"", "null"})
    CHECK(wrong(fmt::format(R"({{"list": [{{"size": {}}}]}})", size).c_str()) ==
          "\"list[0].size\" has the wrong type");
  CHECK(wrong(R"({"list": [{"on": 1}]})") == "\"list[0].on\" has the wrong type");
  CHECK(wrong(R"({"words": {"a": 1}})") == "\"words.a\" has the wrong type");
}

}  // namespace torchport::json
