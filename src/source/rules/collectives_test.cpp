#include "source/rules/collectives.h"

#include <string>

#include <doctest/doctest.h>

#include "source/rules/converge.h"
#include "source/rules/registry.h"
#include "source/rules/text_of_tests.h"

namespace torchport::rules {
namespace {

bool fixes_exchange(const std::string& text, Applicability tier) {
  const edit::Settings settings;
  const auto fixed = converge_python("a.py", text, {find_rule("TP101")}, settings, tier);
  REQUIRE(fixed.has_value());
  return fixed->text != text;
}

TEST_CASE("a device that is chosen for exchanged tensors is no safe fix") {
  const std::string imports = "import torch\nimport torch.distributed as dist\n\n";
  const std::string head = "def total(number):\n    x = torch.tensor(number).cuda()\n";
  const std::string exchanged = text_of({imports, head, "    dist.all_reduce(x)\n    return x\n"});
  CHECK(fixes_exchange(text_of({imports, head, "    return x\n"}), Applicability::kSafe));
  CHECK(!fixes_exchange(exchanged, Applicability::kSafe));
  CHECK(fixes_exchange(exchanged, Applicability::kUnsafe));
}

}  // namespace
}  // namespace torchport::rules
