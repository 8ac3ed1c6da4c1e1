#include "source/syntax/encoding.h"

#include <doctest/doctest.h>

namespace torchport::syntax {
namespace {

TEST_CASE("the cookie of PEP 263") {
  CHECK(encoding_cookie("# -*- coding: latin-1 -*-\n") == "latin-1");
  CHECK(encoding_cookie("#!/usr/bin/python\n# vim: set fileencoding=UTF-8 :\n") == "utf-8");
  CHECK(encoding_cookie("# coding=gbk\r\nx = 1\r\n") == "gbk");
  CHECK(encoding_cookie("\xEF\xBB\xBF# coding: utf-8\n") == "utf-8");
  CHECK(encoding_cookie("# coding: euc_jp") == "euc_jp");
  // Not a cookie: the third line, after code, no separator, not in a comment.
  CHECK(encoding_cookie("\n\n# coding: latin-1\n").empty());
  CHECK(encoding_cookie("x = 1\n# coding: latin-1\n").empty());
  CHECK(encoding_cookie("# coding latin-1\n").empty());
  CHECK(encoding_cookie("s = 'coding: latin-1'\n").empty());
  CHECK(encoding_cookie("").empty());
}

TEST_CASE("the parser's view has every byte at its place") {
  for (const char* text : {"x = 1\r\ny = 2\r\n", "x\ry\r", "# coding: latin-1\ns = '\xE9'\n",
                           "# coding: gbk\ns = '\xB1\x5C'\n", "s = '\xE2\x82\xAC'\n"}) {
    const auto view = parser_view(text);
    REQUIRE(view.has_value());
    CHECK(view->size() == std::string_view(text).size());
  }
}

TEST_CASE("a CR that ends a line alone is a line end") {
  CHECK(parser_view("x\ry\r\nz\r").value() == "x\ny\r\nz\n");
}

TEST_CASE("bytes above ASCII of other encodings are no quotes and no backslashes") {
  // U+8868 in Shift-JIS is 0x95 0x5C: its second byte looks like a backslash.
  const auto view = parser_view("# coding: shift_jis\ns = '\x95\x5C'\n");
  REQUIRE(view.has_value());
  CHECK(view->substr(view->find("s =")) == "s = '__'\n");
  CHECK(parser_view("# coding: latin-1\ns = '\xE9' + t\n")->ends_with("s = '_' + t\n"));
}

TEST_CASE("what CPython refuses is refused in words") {
  const auto said = [](std::string_view text) {
    const auto view = parser_view(text);
    REQUIRE(!view.has_value());
    CHECK(view.error().code == base::ErrorCode::kEncoding);
    return view.error();
  };
  CHECK(said("x = 1\ns = '\xFF'\n").line == 2);
  CHECK(said("x = 1\ns = '\xFF'\n").message.find("0xff") != std::string::npos);
  CHECK(said(std::string_view("x\n\n\0", 4)).line == 3);
  CHECK(said("\xFF\xFEx").message.find("UTF-16") != std::string::npos);
  CHECK(said("# coding: klingon\n").message.find("klingon") != std::string::npos);
  CHECK(said("# coding: utf-8\ns = '\xE9'\n").line == 2);
}

TEST_CASE("well-formed UTF-8") {
  std::size_t bad = 99;
  CHECK(is_valid_utf8("", bad));
  CHECK(is_valid_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", bad));
  const auto first_bad = [](std::string_view bytes) {
    std::size_t at = 99;
    return is_valid_utf8(bytes, at) ? std::size_t{99} : at;
  };
  CHECK(first_bad("ab\x80") == 2);            // a continuation byte alone
  CHECK(first_bad("\xC0\xAF") == 0);          // overlong
  CHECK(first_bad("\xE0\x80\xAF") == 0);      // overlong
  CHECK(first_bad("\xED\xA0\x80") == 0);      // a surrogate
  CHECK(first_bad("\xF4\x90\x80\x80") == 0);  // beyond U+10FFFF
  CHECK(first_bad("a\xE2\x82") == 1);         // cut off
}

}  // namespace
}  // namespace torchport::syntax
