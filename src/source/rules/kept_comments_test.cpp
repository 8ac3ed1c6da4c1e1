#include "source/rules/kept_comments.h"

#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "source/rules/converge.h"
#include "source/rules/examine.h"
#include "source/rules/page_cases.h"
#include "source/rules/registry.h"

namespace torchport::rules {
namespace {

std::string fixed_with(const std::string& code) {
  const auto fixed = converge_python("a.py", code, {}, edit::Settings{}, Applicability::kUnsafe);
  REQUIRE(fixed.has_value());
  CHECK(!fixed->reverted);
  return fixed->text;
}

bool has_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("comments in replaced code stand above their statement") {
  const std::string fixed = fixed_with(
      "import torch\n\n\ndef f(n):\n    a = torch.ones(n)\n    return (a\n"
      "            # to the card\n            .cuda(\n                # not the first\n"
      "            ))\n");
  CHECK_MESSAGE(has_text(fixed, "    # to the card\n    # not the first\n    return (a"), fixed);
  CHECK(!has_text(fixed, ".cuda("));
}

TEST_CASE("an argument is added below a comment") {
  CHECK(has_text(fixed_with("import torch\n\nt = torch.cuda.FloatTensor(\n    # rows\n    3,\n"
                            "    4,  # columns\n)\n"),
                 "t = torch.empty(\n    # rows\n    3,\n    4,  # columns\n"
                 "    dtype=torch.float32, device=DEVICE,\n)\n"));
  CHECK(has_text(
      fixed_with("import torch\n\nz = torch.load('m.pt'  # of train.py\n               )\n"),
      "z = torch.load('m.pt',  # of train.py\n               map_location='cpu'\n"));
}

TEST_CASE("a comment that a tool reads at its line keeps its line") {
  const std::string code = "import torch\n\nx = torch.ones(3).cuda(  # noqa: E1\n)\n";
  CHECK(fixed_with(code) == code);
}

// The code with a comment of its own after each opening bracket and comma of a call.
std::string commented(const std::string& code, std::vector<std::string>& comments) {
  const auto tree = syntax::Tree::parse(code);
  REQUIRE(tree.has_value());
  std::map<std::uint32_t, std::string> inserted;
  const auto insert = [&](std::uint32_t offset) {
    if (inserted.contains(offset)) return;
    comments.push_back("# word " + std::to_string(comments.size()) + ";");
    inserted[offset] = "  " + comments.back() + "\n";
  };
  for (std::uint32_t i = 0; i < (*tree)->size(); ++i) {
    const Node node = (*tree)->at(i);
    if (!node.is(Kind::kCall)) continue;
    const Node list = node.child(Field::kArguments);
    if (!list.text().starts_with('(')) continue;
    insert(list.start() + 1);
    for (const syntax::Argument& argument : syntax::arguments(node))
      if (code[argument.whole.end()] == ',') insert(argument.whole.end() + 1);
  }
  std::string text = code;
  for (auto it = inserted.rbegin(); it != inserted.rend(); ++it) text.insert(it->first, it->second);
  return text;
}

TEST_CASE("no comment in the brackets of a page's code is lost") {
  int kept = 0;
  for (const Rule& rule : all_rules()) {
    for (const Block& block : cases_of(page_of(rule.info))) {
      // A demand for CUDA goes as a whole.
      if (rule.info.code == "TP110" || !block.has("hit") ||
          kind_of_path(block.path()) != FileKind::kPython)
        continue;
      std::vector<std::string> comments;
      const std::string code = commented(block.code, comments);
      const auto fixed =
          converge_python(block.path(), code, {&rule}, settings_of(block), Applicability::kUnsafe);
      REQUIRE(fixed.has_value());
      CHECK_MESSAGE(!fixed->reverted, code);
      if (fixed->text == code) continue;
      for (const std::string& comment : comments) {
        CHECK_MESSAGE(has_text(fixed->text, comment), rule.info.code, code, "=>\n", fixed->text);
        ++kept;
      }
    }
  }
  CHECK(kept > 300);
}

}  // namespace
}  // namespace torchport::rules
