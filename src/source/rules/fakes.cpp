#include "source/rules/fakes.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "source/rules/edits.h"

namespace torchport::rules {

namespace {

// Whether a call replaces a part of torch.cuda: patch("torch.cuda.is_available"),
// monkeypatch.setattr(torch.cuda, "device_count", ...).
bool replaces_cuda(const SemanticModel& model, Node call) {
  static constexpr std::array<std::string_view, 4> kReplacers{"patch", "object", "setattr",
                                                              "multiple"};
  if (!base::one_of(kReplacers, method_name(call))) return false;
  const Node what = syntax::positional(call, 0);
  if (model.qualified(what).starts_with("torch.cuda") || what.text().ends_with("torch.cuda"))
    return true;
  std::string name;
  return syntax::string_value(what, name) &&
         (name.find("cuda.") != std::string::npos || name == "torch.cuda");
}

// The functions of a file that replace a part of torch.cuda, with their decorators.
class FakedFunctions {
 public:
  explicit FakedFunctions(const SemanticModel& model) : model_(model) {}

  bool contain(Node place) const {
    for (Node function = syntax::function_of(place); function;
         function = syntax::function_of(function)) {
      const auto [entry, fresh] = known_.try_emplace(function.index());
      if (fresh) {
        const Node parent = function.parent();
        const Node whole = parent.is(Kind::kDecorated) ? parent : function;
        for (const Node call : model_.nodes(Kind::kCall, whole))
          entry->second |= replaces_cuda(model_, call);
      }
      if (entry->second) return true;
    }
    return false;
  }

 private:
  const SemanticModel& model_;
  mutable std::unordered_map<std::uint32_t, bool> known_;
};

// Whether a class is a stand-in by its name: MagicMock, SimpleNamespace, FakeTensor.
bool is_stand_in(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kNames{
      "Mock",      "MagicMock",       "AsyncMock",      "NonCallableMock",
      "Namespace", "SimpleNamespace", "create_autospec"};
  name = name.substr(name.rfind('.') + 1);
  return base::one_of(kNames, name) || name.starts_with("Fake") || name.starts_with("Mock") ||
         name.starts_with("_Fake") || name.starts_with("Stub");
}

bool makes_stand_in(const SemanticModel& model, Node call) {
  if (!call.is(Kind::kCall)) return false;
  const Node callee = syntax::callee(call);
  const semantics::ClassFacts* facts = model.class_named(callee.text());
  return is_stand_in(callee.text()) && (facts == nullptr || !facts->is_module);
}

// Whether the object of a call, or what the call makes, is a stand-in.
bool is_of_stand_in(const SemanticModel& model, Node call) {
  if (makes_stand_in(model, call)) return true;
  Node root = syntax::callee(call);
  while (root.is_any(Kind::kCall, Kind::kAttribute)) {
    for (const syntax::Argument& argument : syntax::arguments(root))
      if (makes_stand_in(model, argument.value)) return true;
    if (makes_stand_in(model, root)) return true;
    root = root.is(Kind::kCall) ? syntax::callee(root) : root.child(Field::kObject);
  }
  if (!root.is(Kind::kIdentifier)) return false;
  const auto bindings = model.scopes().reaching(root.text(), root);
  return !bindings.empty() &&
         std::all_of(bindings.begin(), bindings.end(), [&](const semantics::Binding* binding) {
           return binding->kind == semantics::BindingKind::kAssign &&
                  makes_stand_in(model, binding->value);
         });
}

// Whether the node is under `with pytest.raises(...):`.
bool is_expected_to_raise(Node place) {
  for (Node up = place; up.parent() && !up.is(Kind::kFunction); up = up.parent()) {
    if (!up.parent().is(Kind::kWith) || up.field() != Field::kBody) continue;
    const std::string_view line = up.parent().text().substr(0, up.start() - up.parent().start());
    if (line.find("raises(") != std::string_view::npos ||
        line.find("assertRaises") != std::string_view::npos)
      return true;
  }
  return false;
}

// Whether a use of a name compares it: `x == name`, assertEqual(x, name).
bool is_compared(Node use) {
  for (Node up = use.parent(); up && !up.is_any(Kind::kBlock, Kind::kModule); up = up.parent()) {
    if (up.is_any(Kind::kComparison, Kind::kAssert)) return true;
    if (up.is(Kind::kCall) && method_name(up).starts_with("assert")) return true;
  }
  return false;
}

// Whether a use of a name makes or moves something: `x.to(name)`, `torch.ones(2, device=name)`.
bool is_place_for(const SemanticModel& model, Node use) {
  const Node list = use.parent().is(Kind::kKeywordArgument) ? use.parent().parent() : use.parent();
  const Node call = list.is(Kind::kArgumentList) ? list.parent() : Node{};
  return call.is(Kind::kCall) && !is_of_stand_in(model, call) &&
         (model.called(call).starts_with("torch.") || method_name(call) == "to");
}

// Whether a function makes stand-ins: `model.to = Mock()`.
bool makes_stand_ins(const SemanticModel& model, Node function) {
  const auto calls = model.nodes(Kind::kCall, function);
  return std::any_of(calls.begin(), calls.end(),
                     [&](Node call) { return makes_stand_in(model, call); });
}

// Whether a value is only put somewhere and looked at: `model.device = torch.device("cuda")`, or a
// name that is compared later, and at which nothing is placed.
bool is_only_passed(const SemanticModel& model, Node place) {
  Node value = place;
  while (value && !value.parent().is_any(Kind::kAssignment, Kind::kBlock, Kind::kModule))
    value = value.parent();
  const Node target = value.parent().child(Field::kLeft);
  const bool whole = value.is(Kind::kString) || model.called(value) == "torch.device";
  if (!value.parent().is(Kind::kAssignment) || value == target || !whole) return false;
  if (target.is(Kind::kAttribute))
    return target.child(Field::kAttributeName).text().ends_with("device");
  const Node function = syntax::function_of(place);
  if (!target.is(Kind::kIdentifier) || !function) return false;
  const auto uses = model.named(target.text(), function);
  return std::any_of(uses.begin(), uses.end(), is_compared) &&
         (makes_stand_ins(model, function) || std::none_of(uses.begin(), uses.end(), [&](Node use) {
            return is_place_for(model, use);
          }));
}

}  // namespace

bool is_faked(const PythonContext& context, Node place) {
  if (!context.is_test()) return false;
  const SemanticModel& model = context.model;
  if (model.facts<FakedFunctions>().contain(place) || is_expected_to_raise(place) ||
      is_only_passed(model, place))
    return true;
  Node call = place;
  while (call && !call.is_any(Kind::kCall, Kind::kBlock, Kind::kModule)) call = call.parent();
  return call.is(Kind::kCall) && is_of_stand_in(model, call);
}

}  // namespace torchport::rules
