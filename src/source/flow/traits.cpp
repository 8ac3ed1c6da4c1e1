#include "source/flow/traits.h"

#include <algorithm>

#include "base/text.h"
#include "source/semantics/guards.h"

namespace torchport::flow {

namespace {

using semantics::SemanticModel;
using syntax::Field;
using syntax::Kind;
using syntax::Node;

bool ends_with_raise(Node block) {
  Node last;
  for (Node statement = block.first_child(); statement; statement = statement.next_sibling())
    last = statement;
  return last.is(Kind::kRaise) && last.text().find("Skip") == std::string_view::npos;
}

// `if device.type != "cuda": raise ...`, `assert x.is_cuda`. A function with a demand of the
// program itself, `assert torch.cuda.is_available()`, is none: what follows is no less tied to
// CUDA.
bool refuses(const SemanticModel& model, Node function) {
  const auto& exits = model.early_exits(function.child(Field::kBody));
  if (std::any_of(exits.begin(), exits.end(),
                  [&](Node exit) { return semantics::is_cuda_demand(model, exit); }))
    return false;
  for (const Node exit : exits) {
    const bool asserts = exit.is(Kind::kAssert);
    if (!asserts && !ends_with_raise(exit.child(Field::kConsequence))) continue;
    const semantics::CudaKnowledge after = semantics::implied_by(
        model, asserts ? exit.first_child() : exit.child(Field::kCondition), asserts);
    if (after.present && after.by_default == nullptr) return true;
  }
  return false;
}

bool writes(const SemanticModel& model, Node function) {
  const auto calls = model.nodes(Kind::kCall, function);
  return std::any_of(calls.begin(), calls.end(), [&](Node call) {
    const std::string& name = model.called(call);
    return name == "torch.save" || name == "torch.jit.save";
  });
}

bool is_parameter(Node function, std::string_view name) {
  const Node parameters = function.child(Field::kParametersPart);
  for (Node parameter = parameters.first_child(); parameter; parameter = parameter.next_sibling()) {
    Node named = parameter;
    if (const Node field = parameter.child(Field::kName)) named = field;
    if (parameter.is(Kind::kTypedParameter)) named = parameter.first_child();
    if (named.text() == name) return true;
  }
  return false;
}

bool speaks_of_device(std::string_view name) {
  return base::lower(name).find("device") != std::string::npos;
}

bool gives_cpu(const SemanticModel& model, Node function) {
  for (const Node assignment : model.nodes(Kind::kAssignment, function)) {
    const Node target = assignment.child(Field::kLeft);
    const Node value = assignment.child(Field::kRight);
    if (syntax::function_of(assignment) == function && target.is(Kind::kIdentifier) && value &&
        is_parameter(function, target.text()) && stands_in_for_device(model, value))
      return true;
  }
  // A function for devices that returns another one than it got.
  if (!speaks_of_device(function.child(Field::kName).text())) return false;
  for (const Node statement : model.nodes(Kind::kReturn, function)) {
    const Node value = statement.first_child();
    if (value && syntax::function_of(statement) == function && stands_in_for_device(model, value))
      return true;
  }
  return false;
}

bool evaluates(const SemanticModel& model, Node function) {
  for (const Node call : model.calls_of("eval", function)) {
    const Node object = syntax::callee(call).child(Field::kObject);
    if (!object.is(Kind::kIdentifier) || !syntax::arguments(call).empty() ||
        syntax::function_of(call) != function)
      continue;
    if (call.parent().is(Kind::kReturn) || is_parameter(function, object.text())) return true;
    for (const Node statement : model.nodes(Kind::kReturn, function))
      if (!model.named(object.text(), statement).empty()) return true;
  }
  return false;
}

}  // namespace

bool stands_in_for_device(const SemanticModel& model, Node value) {
  if (semantics::knowledge_at(model, value).absent) return true;
  if (value.text().find("is_available") != std::string_view::npos) return true;
  if (value.text().find("cpu") == std::string_view::npos) return false;
  for (Node up = value.parent(); up && !up.is(Kind::kFunction); up = up.parent()) {
    if (up.is_any(Kind::kIf, Kind::kElif, Kind::kConditional) &&
        up.text().substr(0, up.text().find('\n')).find("avail") != std::string_view::npos)
      return true;
  }
  return false;
}

std::uint8_t traits_of(const SemanticModel& model, Node function) {
  unsigned traits = 0;
  if (refuses(model, function)) traits |= kRefuses;
  if (writes(model, function)) traits |= kWrites;
  if (gives_cpu(model, function)) traits |= kGivesCpu;
  if (evaluates(model, function)) traits |= kEvaluates;
  return static_cast<std::uint8_t>(traits);
}

}  // namespace torchport::flow
