// Tests that inference gives the same answers in any order of questions.
#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "source/semantics/semantic_model.h"
#include "source/syntax/tree.h"

namespace torchport::semantics {
namespace {

std::string chain(int length) {
  std::string text = "import torch\nv0 = torch.zeros(3, device=\"cuda\")\n";
  for (int i = 1; i <= length; ++i)
    text += "v" + std::to_string(i) + " = v" + std::to_string(i - 1) + ".abs()\n";
  return text;
}

constexpr const char* kCycles = R"(import torch
x = torch.zeros(3)
y = x.cuda()
while step():
    x = y + x
    y = x.abs()
    z = y if step() else x
    x = z.type_as(y)
class Net(torch.nn.Module):
    def __init__(self):
        self.a = torch.ones(3)
        self.b = self.a
        self.a = self.b.cuda()
    def forward(self, x):
        self.b = self.a + x
        return self.a
)";

SemanticModel model_of(const std::string& text) {
  return SemanticModel(syntax::Tree::parse(text).value());
}

std::string text_of(const Value& value) {
  return std::to_string(static_cast<int>(value.type)) + "/" +
         std::to_string(static_cast<int>(value.device_state)) + "/" + value.text;
}

// The answers for all nodes, asked in the given order and listed in the order of the nodes.
std::vector<std::string> answers(const std::string& text, const std::vector<std::uint32_t>& order) {
  const SemanticModel model = model_of(text);
  std::vector<std::string> all(order.size());
  for (const std::uint32_t node : order) all[node] = text_of(model.value(model.tree().at(node)));
  return all;
}

TEST_CASE("answers do not depend on the order of the questions") {
  std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same orders in each run
  for (const std::string& text : {chain(40), std::string(kCycles)}) {
    std::vector<std::uint32_t> order(model_of(text).tree().size());
    std::iota(order.begin(), order.end(), 0U);
    const auto forwards = answers(text, order);
    for (int i = 0; i < 20; ++i) {
      if (i == 0)
        std::reverse(order.begin(), order.end());
      else
        std::shuffle(order.begin(), order.end(), random);
      CHECK(answers(text, order) == forwards);
    }
  }
}

TEST_CASE("a chain of names is followed as far as the bound, and no further") {
  const SemanticModel model = model_of(chain(40));
  const auto state_of = [&](const std::string& name) {
    return model.value(*model.named(name).begin()).device_state;
  };
  CHECK(state_of("v1") == DeviceState::kCuda);
  CHECK(state_of("v3") == DeviceState::kCuda);
  CHECK(state_of("v39") == DeviceState::kUnknown);
}

TEST_CASE("type_as moves to the other's device") {
  const SemanticModel model = model_of(
      "import torch\na = torch.zeros(3)\nb = torch.zeros(3, device='cuda')\nc = a.type_as(b)\n"
      "d = b.type_as(a)\nprint(c, d)\n");
  const auto last = [&](const std::string& name) {
    syntax::Node found;
    for (const syntax::Node node : model.named(name)) found = node;
    return model.value(found);
  };
  CHECK(last("c").device_state == DeviceState::kFollows);
  CHECK(last("d").device_state == DeviceState::kFollows);
  CHECK(last("c").is(Type::kTensor));
}

}  // namespace
}  // namespace torchport::semantics
