#include "source/flow/early_cuda.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "source/semantics/cuda_calls.h"
#include "source/semantics/literals.h"
#include "source/semantics/visible_devices.h"

namespace torchport::flow {

namespace {

using semantics::SemanticModel;
using syntax::Field;
using syntax::Kind;
using syntax::Node;

// The function in whose body a node runs; invalid for default values and decorators, which run
// with the definition.
Node body_around(Node node) {
  for (Node up = node; up.parent(); up = up.parent())
    if ((up.field() == Field::kBody && up.parent().is(Kind::kFunction)) ||
        up.parent().is(Kind::kLambda))
      return up.parent();
  return {};
}

bool runs_on_import(Node node) {
  return !body_around(node) && !semantics::in_main_block(node);
}

}  // namespace

bool starts_cuda(const SemanticModel& model, Node call) {
  static constexpr std::array<std::string_view, 5> kIdle{"empty_cache", "is_initialized", "seed",
                                                         "seed_all", "device_count"};
  const std::string_view name = semantics::cuda_function(model, call);
  if (!name.empty())
    return !name.starts_with("amp.") && !name.starts_with("manual_seed") &&
           !base::one_of(kIdle, name);
  if (model.is_method_call(call, "cuda")) return true;
  const auto arguments = syntax::arguments(call);
  return model.called(call) != "torch.device" &&
         std::any_of(arguments.begin(), arguments.end(), [&](const syntax::Argument& argument) {
           return semantics::classify_literal(model, argument.value).role ==
                  semantics::LiteralRole::kPlacement;
         });
}

bool starts_cuda_on_import(const SemanticModel& model) {
  if (model.tree().source().find("cuda") == std::string::npos) return false;
  std::vector<std::string_view> starters;  // functions of the file
  for (const Node call : model.nodes(Kind::kCall)) {
    if (semantics::in_main_block(call) || !starts_cuda(model, call)) continue;
    const Node function = body_around(call);
    if (!function) return true;
    if (function.is(Kind::kFunction)) starters.push_back(function.child(Field::kName).text());
  }
  std::sort(starters.begin(), starters.end());
  starters.erase(std::unique(starters.begin(), starters.end()), starters.end());
  return std::any_of(starters.begin(), starters.end(), [&](std::string_view name) {
    const auto calls = model.calls_of(name);
    return std::any_of(calls.begin(), calls.end(), [&](Node call) {
      return syntax::callee(call).is(Kind::kIdentifier) && runs_on_import(call);
    });
  });
}

}  // namespace torchport::flow
