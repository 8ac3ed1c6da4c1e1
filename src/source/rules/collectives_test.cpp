#include "source/rules/collectives.h"

#include <initializer_list>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "source/rules/converge.h"
#include "source/rules/registry.h"

namespace torchport::rules {
namespace {

std::string collective_text(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

bool fixes_exchange(const std::string& text, Applicability tier) {
  const edit::Settings settings;
  const auto fixed = converge_python("a.py", text, {find_rule("TP101")}, settings, tier);
  REQUIRE(fixed.has_value());
  return fixed->text != text;
}

TEST_CASE("a device that is chosen for exchanged tensors is no safe fix") {
  const std::string imports = "import torch\nimport torch.distributed as dist\n\n";
  const std::string head = "def total(number):\n    x = torch.tensor(number).cuda()\n";
  const std::string exchanged =
      collective_text({imports, head, "    dist.all_reduce(x)\n    return x\n"});
  CHECK(fixes_exchange(collective_text({imports, head, "    return x\n"}), Applicability::kSafe));
  CHECK(!fixes_exchange(exchanged, Applicability::kSafe));
  CHECK(fixes_exchange(exchanged, Applicability::kUnsafe));
}

}  // namespace
}  // namespace torchport::rules
