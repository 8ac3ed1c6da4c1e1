#include "source/syntax/tree.h"

#include <doctest/doctest.h>

#include "source/project/check.h"
#include "source/rules/registry.h"

namespace torchport::syntax {
namespace {

// Small enough for a test, and broken enough that the parser gives up on the whole text.
constexpr const char* kHopeless = R"py(class Trainer:
    def __init__(self, model, device):
    def __init__(self, model, device):; import torch.nn as nn
        weights = torch.FloatTensor([1.0, 2.0]return self.loss(self.model(x), y)
 batches = [x.cuda(non_blocking=True) for x in torch.randn(4, 2)]
 if x else( )py";

TEST_CASE("the root is the module, however broken the text is") {
  for (const char* text : {"", "x = 1\n", "(", "x = = )\n", kHopeless}) {
    const auto tree = Tree::parse(text);
    REQUIRE(tree.has_value());
    CHECK((*tree)->root().is(Kind::kModule));
  }
}

TEST_CASE("a text that is broken from end to end is checked to its end") {
  project::CheckOptions options;
  for (const rules::Rule& rule : rules::all_rules()) options.selection.push_back(&rule);
  const auto found = project::check_source("a.py", kHopeless, options);
  REQUIRE(found.problems.size() == 1);
  CHECK(found.problems.front().code == base::ErrorCode::kSyntax);
}

TEST_CASE("nesting beyond what Python reads is refused in words") {
  const auto nested = [](int levels) {
    return "x = " + std::string(static_cast<std::size_t>(levels), '[') +
           std::string(static_cast<std::size_t>(levels), ']') + "\n";
  };
  ParseLimits unhurried;  // this tests the depth, so the time is unlimited, also under a sanitizer
  unhurried.max_milliseconds = 60'000;
  CHECK(Tree::parse(nested(1000), unhurried).has_value());
  const auto deep = Tree::parse(nested(100'000), unhurried);
  REQUIRE(!deep.has_value());
  CHECK(deep.error().code == base::ErrorCode::kBudget);
  CHECK(deep.error().message.find("too deeply") != std::string::npos);
}

std::string nested_blocks(int levels) {
  std::string text;
  for (int i = 0; i < levels; ++i)
    text += std::string(static_cast<std::size_t>(i), ' ') + "if x:\n";
  return text + std::string(static_cast<std::size_t>(levels), ' ') + "pass\n";
}

std::string nested_f_strings(int levels) {
  std::string open;
  std::string close;
  for (int i = 0; i < levels; ++i) {
    open += "f'{";
    close += "}'";
  }
  return "x = " + open + "1" + close + "\n";
}

// Nesting as deep as CPython's limit works. Deeper than the grammar's scanner can save, the parse
// still ends.
TEST_CASE("nested blocks and f-strings end in a tree or in a syntax error") {
  for (const int levels : {1, 99}) {
    CHECK(!Tree::parse(nested_blocks(levels)).value()->has_syntax_error());
    CHECK(!Tree::parse(nested_f_strings(levels)).value()->has_syntax_error());
  }
  for (const int levels : {600, 2000}) {
    for (const std::string& text : {nested_blocks(levels), nested_f_strings(levels)}) {
      const auto tree = Tree::parse(text);
      CHECK((!tree.has_value() || (*tree)->has_syntax_error()));
    }
  }
}

// The sanitizer of leaks looks at what it leaves.
TEST_CASE("a parse that takes too much memory is given up") {
  ParseLimits limits;
  limits.paths = ParseLimits::Paths::kGrammar;
  limits.max_parser_bytes = 1;
  const auto tree = Tree::parse(nested_blocks(99), limits);
  REQUIRE(!tree.has_value());
  CHECK(tree.error().code == base::ErrorCode::kBudget);
  CHECK(tree.error().message.find("takes more than") != std::string::npos);
}

TEST_CASE("parents, siblings and fields") {
  const auto tree = Tree::parse("f(a, # why\n  key=b)\n");
  REQUIRE(tree.has_value());
  const Node call = (*tree)->root().first_child().first_child();
  REQUIRE(call.is(Kind::kCall));
  CHECK(callee(call).text() == "f");
  const auto list = arguments(call);
  REQUIRE(list.size() == 2);
  CHECK(list[0].value.text() == "a");
  CHECK(list[1].keyword == "key");
  CHECK(keyword(call, "key").text() == "b");
  CHECK(!keyword(call, "other"));
  CHECK(list[1].value.ancestor(Kind::kCall) == call);
  CHECK(call.holds(list[1].value));
  CHECK(!list[1].value.holds(call));
  REQUIRE((*tree)->comments().size() == 1);
  CHECK((*tree)->comments().front().text() == "# why");
}

TEST_CASE("string values") {
  const auto value = [](const std::string& literal) -> std::string {
    const auto tree = Tree::parse("x = " + literal + "\n");
    std::string text;
    const Node assignment = (*tree)->root().first_child().first_child();
    return string_value(assignment.child(Field::kRight), text) ? text : "<none>";
  };
  CHECK(value("'cuda'") == "cuda");
  CHECK(value("\"cuda:0\"") == "cuda:0");
  CHECK(value("'''cuda'''") == "cuda");
  CHECK(value("r'cuda'") == "cuda");
  CHECK(value("f'cuda'") == "cuda");
  CHECK(value("''") == "");
  CHECK(value("f'cuda:{i}'") == "<none>");
  CHECK(value("x") == "<none>");
}

}  // namespace
}  // namespace torchport::syntax
