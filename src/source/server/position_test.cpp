#include "source/server/position.h"

#include <doctest/doctest.h>

namespace torchport {
namespace {

using server::Encoding;
using server::Json;
using server::offset_at;
using server::Position;
using server::position_at;

// é: 2 bytes, 1 unit. €: 3 bytes, 1 unit. 😀: 4 bytes, 2 units of UTF-16.
constexpr std::string_view kText = "ab\né€x\r\n😀y\rlast";

TEST_CASE("UTF-16 positions and offsets are inverse to each other") {
  const base::LineIndex lines(kText);
  const auto check = [&](Position position, std::string_view rest) {
    const std::uint32_t offset = offset_at(lines, position, Encoding::kUtf16);
    CHECK(kText.substr(offset) == rest);
    CHECK(position_at(lines, offset, Encoding::kUtf16) == position);
  };
  check({0, 0}, kText);
  check({0, 2}, "\né€x\r\n😀y\rlast");
  check({1, 1}, "€x\r\n😀y\rlast");
  check({1, 2}, "x\r\n😀y\rlast");
  check({1, 3}, "\r\n😀y\rlast");
  check({2, 0}, "😀y\rlast");
  check({2, 2}, "y\rlast");
  check({2, 3}, "\rlast");
  check({3, 4}, "");
}

TEST_CASE("UTF-8 positions count bytes") {
  const base::LineIndex lines(kText);
  CHECK(kText.substr(offset_at(lines, {1, 2}, Encoding::kUtf8)).starts_with("€x"));
  CHECK(kText.substr(offset_at(lines, {2, 4}, Encoding::kUtf8)).starts_with('y'));
  CHECK(position_at(lines, offset_at(lines, {2, 4}, Encoding::kUtf8), Encoding::kUtf8) ==
        Position{2, 4});
}

TEST_CASE("a position inside of a character is its start") {
  const base::LineIndex lines(kText);
  CHECK(kText.substr(offset_at(lines, {2, 1}, Encoding::kUtf16)).starts_with("😀"));
  for (std::uint32_t byte : {1U, 2U, 3U})
    CHECK(kText.substr(offset_at(lines, {2, byte}, Encoding::kUtf8)).starts_with("😀"));
}

TEST_CASE("positions outside of the text are cut to it") {
  const base::LineIndex lines(kText);
  for (const Encoding encoding : {Encoding::kUtf8, Encoding::kUtf16}) {
    CHECK(kText.substr(offset_at(lines, {1, 99999}, encoding)) == "\r\n😀y\rlast");
    CHECK(offset_at(lines, {99999, 0}, encoding) == kText.size());
    CHECK(offset_at(lines, {0xFFFFFFFF, 0xFFFFFFFF}, encoding) == kText.size());
  }
  const base::LineIndex none("");
  CHECK(offset_at(none, {3, 3}, Encoding::kUtf16) == 0);
  CHECK(position_at(none, 17, Encoding::kUtf16) == Position{0, 0});
}

TEST_CASE("bytes that are not UTF-8 have positions, too") {
  const std::string_view bytes = "\xFF\x80\xF0 x";
  const base::LineIndex lines(bytes);
  for (std::uint32_t i = 0; i < 10; ++i) {
    CHECK(offset_at(lines, {0, i}, Encoding::kUtf16) <= bytes.size());
    CHECK(position_at(lines, i, Encoding::kUtf16).line == 0);
  }
}

TEST_CASE("numbers of a position may be anything that JSON has") {
  const auto read = [](const char* text) { return server::read_position(Json::parse(text)); };
  CHECK(read(R"({"line": 3, "character": 4})") == Position{3, 4});
  CHECK(read(R"({"line": -1, "character": -9e99})") == Position{0, 0});
  CHECK(read(R"({"line": 1e300, "character": 18446744073709551615})") ==
        Position{2147483647, 2147483647});
  CHECK_THROWS_AS(read(R"({"line": "3", "character": 4})"), Json::exception);
  CHECK_THROWS_AS(read(R"({"line": 3})"), Json::exception);
  CHECK_THROWS_AS(read("[]"), Json::exception);
}

}  // namespace
}  // namespace torchport
