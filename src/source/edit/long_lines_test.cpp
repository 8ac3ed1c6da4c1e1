#include "source/edit/long_lines.h"

#include <doctest/doctest.h>

namespace torchport::edit {
namespace {

std::string broken(const std::string& text, std::size_t limit = 40) {
  const auto tree = syntax::Tree::parse(text);
  REQUIRE(tree.has_value());
  const std::string result = broken_lines("", **tree, limit);
  const auto again = syntax::Tree::parse(result);
  REQUIRE(again.has_value());
  CHECK(!(*again)->has_syntax_error());
  CHECK(broken_lines("", **again, limit) == result);
  return result;
}

TEST_CASE("a statement is broken inside of its last brackets") {
  CHECK(broken("model = make(3, 4).load(path, device=DEVICE)\n") ==
        "model = make(3, 4).load(\n    path, device=DEVICE\n)\n");
  CHECK(broken("def f():\n    model = make(alpha, beta, gamma).eval()\n") ==
        "def f():\n    model = make(\n        alpha, beta, gamma\n    ).eval()\n");
  CHECK(broken("result = compute(first_argument, second_argument, third)\n") ==
        "result = compute(\n    first_argument,\n    second_argument,\n    third,\n)\n");
}

TEST_CASE("a choice gets a line for each branch") {
  CHECK(
      broken(
          "d = torch.device(\"cuda\" if a.is_available() else \"mps\" if b.c() else \"cpu\")\n") ==
      "d = torch.device(\n    \"cuda\" if a.is_available()\n    else \"mps\" if b.c()\n"
      "    else \"cpu\"\n)\n");
  CHECK(broken("device = \"cuda\" if torch.cuda.is_available() else \"cpu\"\n", 50) ==
        "device = (\n    \"cuda\" if torch.cuda.is_available() else \"cpu\"\n)\n");
  CHECK(broken("f(default=\"cuda\" if torch.cuda.is_available() else \"cpu\", b=[\"a\", \"b\"])\n",
               60) ==
        "f(\n    default=\"cuda\" if torch.cuda.is_available() else \"cpu\",\n    b=[\"a\", "
        "\"b\"],\n)\n");
}

TEST_CASE("a condition gets a line for each part") {
  CHECK(broken("if first_condition(a) and second_condition(b):\n    pass\n") ==
        "if (\n    first_condition(a)\n    and second_condition(b)\n):\n    pass\n");
  CHECK(broken("use_cuda = first_condition(a) or b(\"0\") == \"1\"\n") ==
        "use_cuda = (\n    first_condition(a) or b(\"0\") == \"1\"\n)\n");
}

TEST_CASE("a context that is chosen gets brackets, unless it has a name") {
  CHECK(
      broken("with torch.cuda.device(x) if cuda.is_available() else nullcontext():\n    pass\n") ==
      "with (\n    torch.cuda.device(x)\n    if cuda.is_available()\n    else nullcontext()\n):\n  "
      "  pass\n");
  CHECK(broken("with first_of_all(a) if b else second(c) as name:\n    pass\n") ==
        "with first_of_all(a) if b else second(\n    c\n) as name:\n    pass\n");
}

TEST_CASE("continuation lines keep their alignment, comments their statement") {
  CHECK(
      broken("out = combine(first.to(DEVICE), second.to(DEVICE),\n              third)\n") ==
      "out = combine(first.to(DEVICE),\n              second.to(DEVICE),\n              third)\n");
  CHECK(broken("x = [a,\n     first.to(DEVICE), second.to(DEVICE),\n     third]\n", 30) ==
        "x = [a,\n     first.to(DEVICE),\n     second.to(DEVICE),\n     third]\n");
  CHECK(broken("x = load(path, map_location=\"cpu\", b=1)  # the weights\n", 38) ==
        "x = load(\n    path, map_location=\"cpu\", b=1\n)  # the weights\n");
}

TEST_CASE("a comprehension is broken between its clauses, and a lambda is not") {
  CHECK(broken("x = {name: f(p) for name, p in getattr(a, b).items() if p}\n") ==
        "x = {\n    name: f(p)\n    for name, p in getattr(a, b).items()\n    if p\n}\n");
  CHECK(broken("x = f(g(a_long_argument, b) async for a_long_argument, b in pairs)\n") ==
        "x = f(\n    g(a_long_argument, b)\n    async for a_long_argument, b in pairs\n)\n");
  CHECK(broken("value = f(lambda argument, other: g(argument))\n") ==
        "value = f(\n    lambda argument, other: g(argument)\n)\n");
}

TEST_CASE("what cannot be broken, or was so before, stays") {
  for (const char* text : {"x = \"a long string with (brackets) in it, and no end\"\n",
                           "a_long_name_of_a_thing = another_long_name_of_it\n",
                           "x = f(a_long_argument, another_long_one)  # noqa: E501\n",
                           "x = '''\nf(a_long_argument, another_long_one, 3)\n'''\n",
                           "x = f(a_long_argument); y = f(another_long_one)\n"})
    CHECK(broken(text) == text);
  const std::string text = "x = f(a_long_argument, another_long_one, b)\n";
  const auto tree = syntax::Tree::parse(text);
  REQUIRE(tree.has_value());
  CHECK(broken_lines(text, **tree, 20) == text);
}

TEST_CASE("a text's own length is that of its lines but one in a hundred, at least 79") {
  CHECK(own_line_length("") == 79);
  CHECK(own_line_length("a\nb\n") == 79);
  CHECK(own_line_length(std::string(100, 'x') + "\n") == 100);
  std::string text = std::string(300, 'x') + "\n" + std::string(90, 'y') + "\n";
  for (int i = 0; i < 97; ++i) text += "z\n\n";
  CHECK(own_line_length(text) == 300);
  CHECK(own_line_length(text + "z\n") == 90);
}

TEST_CASE("a line may stay as long as the one in whose place it stands") {
  const std::string before = "x = f(aaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbb, c)\ny = 1\n";
  const std::string as_long = "x = f(aaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbb, d)\ny = 1\n";
  const std::string longer = "x = f(aaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbb, cd)\ny = 1\n";
  const auto broken = [&](const std::string& after) {
    return broken_lines(before, **syntax::Tree::parse(after), 40);
  };
  CHECK(broken(as_long) == as_long);
  CHECK(broken(longer) ==
        "x = f(\n    aaaaaaaaaaaaaaaaaaa,\n    bbbbbbbbbbbbbbbbbb,\n    cd,\n)\ny = 1\n");
}

}  // namespace
}  // namespace torchport::edit
