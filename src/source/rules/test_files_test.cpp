// What rules say of tests, which the pages' cases are not.
#include <doctest/doctest.h>

#include "source/rules/converge.h"
#include "source/rules/registry.h"
#include "source/rules/text_of_tests.h"

namespace torchport::rules {
namespace {

std::size_t left_in_test(const std::string& text) {
  const edit::Settings settings;
  const auto fixed = converge_python("tests/test_a.py", text, {find_rule("TP102")}, settings,
                                     Applicability::kSafe);
  REQUIRE(fixed.has_value());
  std::size_t count = fixed->left ? fixed->left->size() : 0;
  for (const auto& [code, times] : fixed->applied) count += static_cast<std::size_t>(times);
  return count;
}

TEST_CASE("devices that are only looked at") {
  const std::string imports = "import torch\n\nfrom project import index_of\n\n";
  CHECK(left_in_test(imports + "def test():\n    assert index_of(torch.device(\"cuda\")) == 0\n") ==
        0);
  CHECK(left_in_test(imports + "class T:\n    def test(self):\n        "
                               "self.assertEqual(index_of(torch.device(\"cuda:3\")), 3)\n") == 0);
  CHECK(left_in_test(imports + "def test():\n    x = index_of(torch.device(\"cuda\"))\n") == 1);
  CHECK(left_in_test(imports + "def test():\n    assert "
                               "torch.ones(1).to(torch.device(\"cuda\")) == 1\n") == 1);
}

TEST_CASE("programs whose name says test are programs") {
  const auto lines = [](const std::string& text) {
    const edit::Settings settings;
    const auto fixed = converge_python("lowlight_test.py", text, {find_rule("TP301")}, settings,
                                       Applicability::kUnsafe);
    REQUIRE(fixed.has_value());
    return fixed->text != text;
  };
  const std::string head = "import torch\n\n\ndef load(path):\n    return torch.load(path)\n\n\n";
  const std::string main = "if __name__ == '__main__':\n    ";
  CHECK(lines(text_of({head, main, "print(load('a.pt'))\n"})));
  CHECK(!lines(text_of({"import unittest\n", head, main, "unittest.main()\n"})));
  CHECK(!lines(text_of({head, "def test_load():\n    load('a.pt')\n"})));
  CHECK(!lines(head));
}

}  // namespace
}  // namespace torchport::rules
