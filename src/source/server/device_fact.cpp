#include "source/server/device_fact.h"

#include <algorithm>
#include <array>

#include "source/flow/sources.h"

namespace torchport::server {

namespace {

using semantics::Binding;
using semantics::BindingKind;
using semantics::DeviceState;
using semantics::SemanticModel;
using semantics::Type;
using semantics::Value;
using syntax::Field;
using syntax::Kind;
using syntax::Node;

// As far as values are followed (semantics/infer.cpp).
constexpr int kMaxSteps = 12;
constexpr std::size_t kMaxText = 60;  // bytes

bool has_device(Type type) {
  return type == Type::kTensor || type == Type::kModule || type == Type::kDevice;
}

Node name_at(const SemanticModel& model, std::uint32_t offset) {
  Node at = model.tree().root();
  for (Node child = at.first_child(); child;) {
    if (child.start() <= offset && offset <= child.end() && child.start() < child.end()) {
      // At the border of two nodes, the name counts.
      const Node next = child.next_sibling();
      const bool prefer_next = offset == child.end() && next && next.start() == offset;
      at = prefer_next ? next : child;
      child = at.first_child();
    } else {
      child = child.next_sibling();
    }
  }
  if (!at.is(Kind::kIdentifier)) return {};
  if (at.field() == Field::kAttributeName) at = at.parent();
  // `x.cuda` of `x.cuda()` is a method; what it returns has a device.
  if (at.is(Kind::kAttribute) && at.parent().is(Kind::kCall) && syntax::callee(at.parent()) == at)
    return at.parent();
  return at;
}

// The assignment of which this is the one target.
Node assignment_to(Node name) {
  const Node parent = name.parent();
  return parent.is(Kind::kAssignment) && name.field() == Field::kLeft ? parent : Node();
}

// The binding whose value a name has, if there is exactly one.
const Binding* only_binding(const SemanticModel& model, Node name) {
  const auto bindings = model.scopes().reaching(name.text(), name);
  return bindings.size() == 1 ? bindings.front() : nullptr;
}

// The expression from which this one's value comes, device included; invalid if it is this one that
// decides the device.
Node source_of_call(const SemanticModel& model, Node call) {
  static constexpr std::array<std::string_view, 4> kMoves{"cuda", "cpu", "to", "type_as"};
  const Node function = syntax::callee(call);
  const std::string& name = model.called(call);
  if (name.empty()) {
    if (!function.is(Kind::kAttribute)) return {};
    const std::string_view method = function.child(Field::kAttributeName).text();
    if (std::find(kMoves.begin(), kMoves.end(), method) != kMoves.end()) return {};
    return function.child(Field::kObject);
  }
  if (semantics::is_factory(name) || !name.starts_with("torch.") || semantics::is_module_base(name))
    return {};
  const Node first = syntax::positional(call, 0);
  return has_device(model.value(first).type) ? first : Node();
}

bool is_own_attribute(const SemanticModel& model, Node expression) {
  const std::string_view self = model.self_name(expression);
  return expression.is(Kind::kAttribute) && !self.empty() &&
         expression.child(Field::kObject).text() == self;
}

Node step(const SemanticModel& model, Node expression) {
  switch (expression.kind()) {
    case Kind::kIdentifier: {
      const Binding* binding = only_binding(model, expression);
      if (binding == nullptr || binding->unpacked) return {};
      if (binding->kind == BindingKind::kAssign) return binding->value;
      return binding->kind == BindingKind::kParameter ? binding->target : Node();
    }
    case Kind::kAttribute: {
      if (!is_own_attribute(model, expression)) return expression.child(Field::kObject);
      const auto* facts = model.enclosing_class(expression);
      if (facts == nullptr) return {};
      const auto found = facts->attributes.find(expression.child(Field::kAttributeName).text());
      return found == facts->attributes.end() || found->second.size() != 1
                 ? Node()
                 : found->second.front().value;
    }
    case Kind::kCall:
      return source_of_call(model, expression);
    case Kind::kSubscript:
      return expression.child(Field::kValue);
    case Kind::kUnaryOperator:
      return expression.child(Field::kArgument);
    case Kind::kBinaryOperator: {
      const Node left = expression.child(Field::kLeft);
      return model.value(left).is(Type::kTensor) ? left : expression.child(Field::kRight);
    }
    default:
      return {};
  }
}

// The expression that put a value where it is.
Node maker(const SemanticModel& model, Node expression) {
  Node at = syntax::unwrap(expression);
  for (int i = 0; i < kMaxSteps && at; ++i) {
    const Node next = syntax::unwrap(step(model, at));
    if (!next || next == at) return at;
    at = next;
  }
  return {};
}

// The expression from which a call's result comes, if it is a method that leaves a tensor where it
// is.
Node object_of_method(Node call) {
  const Node function = syntax::callee(call);
  return function.is(Kind::kAttribute) &&
                 semantics::keeps_device(function.child(Field::kAttributeName).text())
             ? function.child(Field::kObject)
             : Node();
}

// The result of a function in another file that is this value.
std::optional<flow::Result> result_elsewhere(const DeviceQuestion& question, Node expression) {
  if (question.project == nullptr) return std::nullopt;
  Node at = syntax::unwrap(expression);
  for (int i = 0; i < kMaxSteps && at; ++i) {
    Node next;
    if (at.is(Kind::kCall)) {
      const auto callee = flow::callee_of(question.model, at);
      auto result = question.project->result_of(question.path, callee);
      if (result && result->path != question.path) return result;
      next = object_of_method(at);
    } else if (at.is(Kind::kIdentifier) || is_own_attribute(question.model, at)) {
      next = step(question.model, at);
    }
    at = syntax::unwrap(next);
  }
  return std::nullopt;
}

std::optional<DeviceFact> fact_of(const DeviceQuestion& question, Node subject, Node expression) {
  const SemanticModel& model = question.model;
  const Value value = model.value(expression);
  if (value.device_state == DeviceState::kUnknown) {
    if (auto result = result_elsewhere(question, expression))
      return DeviceFact{subject, result->type, result->device, {}, {}, std::move(result)};
  }
  if (!has_device(value.type) && value.device_state == DeviceState::kUnknown) return std::nullopt;
  if (value.is(Type::kString)) return std::nullopt;
  DeviceFact fact{subject, value.type, value.device_state, {}, {}, {}};
  if (value.device_state == DeviceState::kFollows) fact.follows = value.device;
  if (value.device_state != DeviceState::kUnknown) fact.made = maker(model, expression);
  return fact;
}

}  // namespace

std::optional<DeviceFact> device_fact_at(const DeviceQuestion& question, std::uint32_t offset) {
  const SemanticModel& model = question.model;
  const Node name = name_at(model, offset);
  // `self` is a module without a device of its own.
  if (!name || name.text() == model.self_name(name)) return std::nullopt;
  if (const Node assignment = assignment_to(name)) {
    const Node value = assignment.child(Field::kRight);
    return value ? fact_of(question, name, value) : std::nullopt;
  }
  return fact_of(question, name, name);
}

std::vector<DeviceFact> assigned_facts(const DeviceQuestion& question, base::Span range) {
  std::vector<DeviceFact> facts;
  for (const Node assignment : question.model.nodes(Kind::kAssignment)) {
    if (assignment.end() < range.start) continue;
    if (assignment.start() > range.end) break;
    const Node target = assignment.child(Field::kLeft);
    const Node value = assignment.child(Field::kRight);
    if (!value || !target.is_any(Kind::kIdentifier, Kind::kAttribute)) continue;
    const auto fact = fact_of(question, target, value);
    if (!fact || fact->type == Type::kDevice) continue;
    if (fact->state == DeviceState::kCuda ||
        (fact->state == DeviceState::kFollows && fact->follows))
      facts.push_back(*fact);
  }
  return facts;
}

std::string type_in_words(Type type) {
  switch (type) {
    case Type::kTensor:
      return "a tensor";
    case Type::kModule:
      return "an nn.Module";
    case Type::kDevice:
      return "a device";
    default:
      return "a value";
  }
}

std::string shortened_text(Node expression) {
  std::string text;
  for (const char c : expression.text()) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!space)
      text += c;
    else if (!text.ends_with(' '))
      text += ' ';
  }
  if (text.size() <= kMaxText) return text;
  std::size_t end = kMaxText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + " ...";
}

}  // namespace torchport::server
