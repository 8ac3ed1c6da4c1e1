#include "source/rules/collectives.h"

#include <doctest/doctest.h>

#include "source/rules/converge.h"
#include "source/rules/registry.h"

namespace torchport::rules {
namespace {

bool is_fixed(const std::string& text, Applicability tier) {
  const edit::Settings settings;
  const auto fixed = converge_python("a.py", text, {find_rule("TP101")}, settings, tier);
  REQUIRE(fixed.has_value());
  return fixed->text != text;
}

TEST_CASE("a device that is chosen for exchanged tensors is no safe fix") {
  const std::string imports = "import torch\nimport torch.distributed as dist\n\n";
  const std::string head = "def total(number):\n    x = torch.tensor(number).cuda()\n";
  const std::string exchanged = imports + head + "    dist.all_reduce(x)\n    return x\n";
  CHECK(is_fixed(imports + head + "    return x\n", Applicability::kSafe));
  CHECK(!is_fixed(exchanged, Applicability::kSafe));
  CHECK(is_fixed(exchanged, Applicability::kUnsafe));
}

}  // namespace
}  // namespace torchport::rules
