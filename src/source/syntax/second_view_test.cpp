#include "source/syntax/second_view.h"

#include <string>

#include <doctest/doctest.h>

#include "source/syntax/tree.h"

namespace torchport::syntax {
namespace {

TEST_CASE("what is rewritten, and what is not") {
  struct Row {
    const char* source;
    const char* view;  // nullptr: nothing is rewritten
  };
  const Row rows[] = {
      {"return a, *(b)", "return a, +(b)"},
      {"x = 2 * a, *[b], c ** 2, d * e", "x = 2 * a, +[b], c ** 2, d * e"},
      {"x, *y = *[1], 2", "x, *y = +[1], 2"},
      {"x *= 1, *[b]", "x *= 1, +[b]"},
      {"for x, *y in *(a), b: pass", "for x, *y in +(a), b: pass"},
      {"if a: return 1, *[b]", "if a: return 1, +[b]"},
      {"return lambda *a, b=1: a, *(b)", "return lambda *a, b=1: a, +(b)"},
      {"x = a[*(b), 1:2]", "x = a[+(b), 1:2]"},
      {"x = (yield a, *(b))", "x = (yield a, +(b))"},
      {"x = f'{*[a], b}' '*' # *", "x = f'{+[a], b}' '*' # *"},
      {"f(*(a), **b)", nullptr},
      {"def f(a, *b, **c): pass", nullptr},
      {"x = [*(a)], (*[b], 1), {*{c}}", nullptr},
      {"from a import *", nullptr},
      {"match x:\n  case [a, *b]: pass", nullptr},
      {"try: pass\nexcept *(A, B): pass", nullptr},
      {"class A[T = int, *Ts = *tuple[int]](B, x=1): pass",
       "class A[T , int, *Ts , *tuple[int]](B, x=1): pass"},
      {"def f[T: (int, str) = int](x=[1]) -> T: pass",
       "def f[T: (int, str) , int](x=[1]) -> T: pass"},
      {"type X[T=int] = list[T]", "type X[T,int] = list[T]"},
      {"x = 1 \\\n\ny = 2", "x = 1  \n\ny = 2"},
      {"x = 1 \\\r\n  # c\ny = 2", "x = 1  \r\n  # c\ny = 2"},
      {"x = 1 + \\\n  2", nullptr},
      {"x = 'a \\\n#b'\ny = '''\\\n\n'''", nullptr},
      {"x = f'{a:=^10}' f\"{b[\"c\"]!r:=>{w}}{{:=}}\"",
       "x = f'{a:_^10}' f\"{b[\"c\"]!r:_>{w}}{{:=}}\""},
      {"if (n := 1): pass", nullptr},
      {"x = 'open\ny = 1, *(b)", nullptr},
      {"x = )\ny = 1, *(b)", nullptr},
      {"x = f'{a", nullptr},
      {"x = 1 \\", nullptr},
      {"", nullptr},
  };
  for (const Row& row : rows) {
    CAPTURE(row.source);
    const auto view = second_view(row.source);
    CHECK(view.value_or("nothing") == (row.view == nullptr ? "nothing" : row.view));
  }
}

TEST_CASE("a splat that the grammar refuses is a splat in the tree") {
  const auto tree = Tree::parse("def f():\n    return a, *(b)\n").value();
  CHECK_FALSE(tree->has_syntax_error());
  int splats = 0;
  for (std::uint32_t i = 0; i < tree->size(); ++i) {
    const Node node = tree->at(i);
    CHECK_FALSE(node.is(Kind::kUnaryOperator));
    if (!node.is(Kind::kListSplat)) continue;
    ++splats;
    CHECK(node.text() == "*(b)");
    CHECK(node.first_child().text() == "(b)");
  }
  CHECK(splats == 1);
}

TEST_CASE("what Python reads is no syntax error") {
  for (const char* source :
       {"class A[T = int]: pass\n", "if x:\n    y = 1 \\\n\n    z = 2\n", "x = f'{a:=^10}'\n",
        "host, *rest = endpoint, *[]\n", "try:\n    pass\nexcept A, B:\n    pass\n",
        "x = t'a{b!r:>{w}}'\n", "x[*a, *(b)] = *c, *[d]\n",
        "try:\n    pass\nexcept* ValueError:\n    pass\n", "type X[*Ts, **P] = dict[str, X]\n"}) {
    CAPTURE(source);
    CHECK_FALSE(Tree::parse(source).value()->has_syntax_error());
  }
}

TEST_CASE("what Python refuses stays refused, and the place is that of the first error") {
  for (const char* source : {"x = 1, *(b)\nprint 'a'\n", "return a, *(b\n", "x = 1, *\n",
                             "exec 'a'\n", "class A[T = ]: pass\n", "print >> a, b\n"}) {
    CAPTURE(source);
    CHECK(Tree::parse(source).value()->has_syntax_error());
  }
  const auto tree = Tree::parse("x = 1, *(b)\ndef f(:\n").value();
  CHECK(tree->lines().at(tree->syntax_error_offset()).line == 1);
}

}  // namespace
}  // namespace torchport::syntax
