#include <doctest/doctest.h>

#include "source/syntax/tree.h"

namespace torchport {
namespace {

// The line at which Python refuses the text; 0 if it accepts it.
std::uint32_t refused_at(const char* text, bool indented_cells = false) {
  syntax::ParseLimits limits;
  limits.indented_cells = indented_cells;
  const auto tree = syntax::Tree::parse(text, limits);
  REQUIRE(tree.has_value());
  if (!(*tree)->has_syntax_error()) return 0;
  return (*tree)->lines().at((*tree)->syntax_error_offset()).line;
}

TEST_CASE("a statement stands where its block does") {
  CHECK(refused_at("x = 1\n  y = 2\n") == 2);
  CHECK(refused_at("  x = 1\ny = 2\n") == 1);
  CHECK(refused_at("def f():\n    x = 1\n        y = 2\n    return x\n") == 3);
  CHECK(refused_at("def f():\n\tx = 1\n        y = 2\n") == 3);
  CHECK(refused_at("if x: y = 1\n    z = 2\n") == 2);
  CHECK(refused_at("@dec\n  def f(): pass\n") == 2);
}

TEST_CASE("indentation that Python takes is taken") {
  CHECK(refused_at("def f():\n  x = 1\n  if x:\n      y = 2\n  else:\n   y = 3\n  return y\n") ==
        0);
  CHECK(refused_at("\xEF\xBB\xBFx = 1\ny = 2\n") == 0);
  CHECK(refused_at("x = 1; \\\n    y = 2\n") == 0);
  CHECK(refused_at("if x:\n    # a\\\n    y = 1\n    z = 2\n") == 0);
  CHECK(refused_at("if x: y = 1; z = 2\nelse: y = 3\n") == 0);
  CHECK(
      refused_at(
          "class A:\n    # why\n  # not\n    @dec\n    # here\n    def f(self):\n        pass\n") ==
      0);
  CHECK(refused_at("def f():\r\n\tx = 1\r\n\treturn x\r\n") == 0);
  CHECK(refused_at("def f():\r    x = 1\r    return x\r") == 0);
  CHECK(refused_at("\fx = 1\n\f\ndef f():\n    x = 1\n\f\n    return x\n") == 0);
  CHECK(refused_at("match x:\n    case 1:\n        pass\n    case _: pass\n") == 0);
  CHECK(refused_at("try:\n    x\nexcept* E:\n    y\nelse:\n    z\nfinally:\n    w\n") == 0);
  CHECK(refused_at(
            "for x in y:\n    pass\nelse:\n    pass\nwhile x:\n    pass\nelse:\n    pass\n") == 0);
  CHECK(refused_at("x = [\n1,\n   2]\nwith (a as b,\n  c as d):\n    pass\n") == 0);
}

TEST_CASE("statements on one line are separated") {
  CHECK(refused_at("import a b(i)\n") == 1);
  CHECK(refused_at("x = 1\nimport Variable Variable(i)\n") == 2);
  CHECK(refused_at("x = 1; y = 2;\nz = 3; \\\n  w = 4\n") == 0);
  CHECK(refused_at("if x: y = 1 else: y = 2\n") == 1);
  CHECK(refused_at("@dec def f(): pass\n") == 1);
  CHECK(refused_at("x = 1; def f(): pass\n") == 1);
  CHECK(refused_at("if x: for y in z: pass\n") == 1);
  CHECK(refused_at("if x: y = 1; while y: pass\n") == 1);
}

TEST_CASE("a body has a statement") {
  CHECK(refused_at("if x:\ny = 1\n") == 1);
  CHECK(refused_at("def f():\n    with x:\ny = 1\n") == 2);
  CHECK(refused_at("def f():\n    # later\ny = 1\n") == 1);
  CHECK(refused_at("match x:\ny = 1\n") == 1);
  CHECK(refused_at("if x: ...\ndef f(): 'a'\n") == 0);
}

TEST_CASE("a line ends inside of brackets, or after a backslash") {
  CHECK(refused_at("w:\nna(dev='cuda')\n") == 1);
  CHECK(refused_at("x =\n  c.cuda()\n") == 1);
  CHECK(refused_at("import  tod():\nc.cuda()\n") == 1);
  CHECK(refused_at("if x and\n   y:\n    pass\n") == 1);
  CHECK(refused_at("@a.\nb\ndef f(): pass\n") == 1);
  CHECK(refused_at("x = 'a' # (\n  'b'\n") == 2);
  CHECK(refused_at("x = \\\n  1\nif x and \\\n  y:  # why\n\n    pass\n") == 0);
  CHECK(refused_at("x = (1 +  # ) not\n  ')' + '''\n(''' +\n 2)\n") == 0);
  CHECK(refused_at("x = f'''{\na}\n{b['c']\n}'''\ny = f\"({a!r}\" \\\n  'b'\n") == 0);
  CHECK(refused_at("def f(a,\n      b=[\n1]) -> (\n  int):\n    return lambda: (\n1)\n") == 0);
  CHECK(refused_at("@a(\n 1)\n# why\n\nclass A(\n  B): x = {\n1: 2}\n") == 0);
  CHECK(refused_at("with (\n  a as b,\n):  # (\n  # more\n  pass\n") == 0);
  CHECK(refused_at("y = 1\nmatch x[\n1]:\n  case {\n'a': b}: pass\n  case (1,\n 2):\n    pass\n") ==
        0);
  CHECK(refused_at("x = 1;\r\ny = [\r\n1]\r\nz = \\\r\n  1\r\n") == 0);
}

TEST_CASE("cells of a notebook may stand anywhere") {
  CHECK(refused_at("    x = 1\ny = 2\n", true) == 0);
  CHECK(refused_at("def f():\n    x = 1\n        y = 2\n", true) == 3);
}

}  // namespace
}  // namespace torchport
