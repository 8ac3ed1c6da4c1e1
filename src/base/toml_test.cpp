#include "base/toml.h"

#include <doctest/doctest.h>

namespace torchport::base {
namespace {

std::string key(int parts, const std::string& part = "a") {
  std::string text = part;
  for (int i = 1; i < parts; ++i) text += "." + part;
  return text;
}

TEST_CASE("a key or header of many parts is an error with its line") {
  for (const std::string& part : {"a", "'a.b'", "\"x\\\"y\"", " ä ", "1"}) {
    for (const int parts : {129, 1000, 300'000}) {
      CAPTURE(parts);
      const std::string long_key = key(parts, part);
      for (const std::string& text :
           {"x = 1\n" + long_key + " = 1\n", "x = 1\n[" + long_key + "]\n",
            "x = 1\n[[" + long_key + "]]\n", "x = [\n{" + long_key + " = 1}]\n"}) {
        CHECK(line_of_deep_key(text) == 2);
        CHECK_THROWS_AS((void)parse_toml(text, "x.toml"), toml::parse_error);
      }
    }
  }
  try {
    (void)parse_toml("\n\n" + key(500), "x.toml");
    CHECK(false);
  } catch (const toml::parse_error& error) {
    CHECK(error.source().begin.line == 3);
    CHECK(*error.source().path == "x.toml");
  }
}

TEST_CASE("dots elsewhere are no parts of a key") {
  const std::string dots(1000, '.');
  for (const std::string& text :
       {"x = '" + dots + "'\n", "x = \"" + dots + "\"\n", "x = '''\n" + dots + "\n'''\n",
        "x = \"\"\"\\\"\"\" " + dots + "\"\"\"\n", "# " + dots + "\nx = 1\n", "x = [" + [] {
          std::string numbers;
          for (int i = 0; i < 500; ++i) numbers += "1.5, ";
          return numbers;
        }() + "]\n"}) {
    CAPTURE(text);
    CHECK_FALSE(line_of_deep_key(text).has_value());
    CHECK(parse_toml(text, "x.toml").contains("x"));
  }
  CHECK(parse_toml(key(128) + " = 1", "x.toml").contains("a"));
}

}  // namespace
}  // namespace torchport::base
