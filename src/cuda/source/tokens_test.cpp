#include "cuda/source/tokens.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace torchport::cuda {

namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (const Token& one : tokens_of(text))
    words.emplace_back(text.substr(one.begin, one.end - one.begin));
  return words;
}

}  // namespace

TEST_CASE("literals are one token each, whatever is in them") {
  CHECK(words_of(R"(f("<<<", '\'', "a\"b");)") ==
        std::vector<std::string>{"f", "(", R"("<<<")", ",", R"('\'')", ",", R"("a\"b")", ")", ";"});
  CHECK(words_of("R\"x(a)\" )x\" u8\"z\" L'c'") ==
        std::vector<std::string>{"R\"x(a)\" )x\"", "u8\"z\"", "L'c'"});
}

TEST_CASE("numbers keep their separators, exponents and suffixes") {
  CHECK(words_of("1'000ull+1e-5f+0x1p+3-.5") ==
        std::vector<std::string>{"1'000ull", "+", "1e-5f", "+", "0x1p+3", "-", ".5"});
}

TEST_CASE("brackets know each other, and one that is not closed hides nothing") {
  const std::string text = "a ( [ ) } b ( c )";
  const std::vector<Token> tokens = tokens_of(text);
  CHECK(tokens[1].partner == 3);
  CHECK(tokens[2].partner == 2);
  CHECK(tokens[4].partner == 4);
  CHECK(tokens[6].partner == 8);
}

TEST_CASE("any bytes have tokens") {
  std::string text;
  for (int i = 0; i < 256; ++i) text += static_cast<char>(i);
  for (std::size_t end = 0; end <= text.size(); ++end)
    CHECK(tokens_of(text.substr(0, end)).size() <= end);
  CHECK(tokens_of("R\"(never closed").size() == 1);
  CHECK(tokens_of("\"never closed\nx").size() == 2);
}

TEST_CASE("a line is that of the last marker") {
  const std::string text =
      "# 1 \"a.cu\"\nint x;\n# 40 \"b.h\" 1\n\n\nint y;\n# 7 \"a.cu\" 2\nint z;";
  CHECK(line_of(text, text.find('x')).line == 1);
  CHECK(line_of(text, text.find('y')).file == "b.h");
  CHECK(line_of(text, text.find('y')).line == 42);
  CHECK(line_of(text, text.find('z')).line == 7);
  CHECK(line_of("int x;\nint y;", 11).line == 2);
}

}  // namespace torchport::cuda
