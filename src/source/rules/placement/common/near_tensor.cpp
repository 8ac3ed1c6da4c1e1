#include "source/rules/placement/common/near_tensor.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "source/flow/facts.h"
#include "source/rules/edits.h"
#include "source/rules/tensors.h"

namespace torchport::rules {

namespace {

using semantics::Binding;
using semantics::BindingKind;
using semantics::SemanticModel;
using semantics::Type;
using syntax::Field;
using syntax::Kind;

// The attribute that is asked of a name where it stands: "size" for `x.size(0)`.
std::string_view asked_of(Node name) {
  const Node parent = name.parent();
  return parent.is(Kind::kAttribute) && name.field() == Field::kObject
             ? parent.child(Field::kAttributeName).text()
             : std::string_view{};
}

// Whether an attribute says something about a tensor without being one.
bool is_about_tensor(std::string_view attribute) {
  static constexpr std::array<std::string_view, 10> kNames{
      "size", "shape", "dim", "ndim", "numel", "device", "dtype", "is_cuda", "type", "layout"};
  return base::one_of(kNames, attribute);
}

// Whether only tensors have this attribute, and no array of NumPy.
bool is_of_tensors_only(std::string_view attribute) {
  static constexpr std::array<std::string_view, 22> kNames{
      "dim",       "numel",    "device",     "is_cuda", "view",    "unsqueeze",
      "permute",   "detach",   "contiguous", "expand",  "view_as", "expand_as",
      "type_as",   "float",    "long",       "half",    "chunk",   "requires_grad",
      "new_zeros", "new_ones", "new_tensor", "new_full"};
  return base::one_of(kNames, attribute);
}

// Whether an index is one that lists and dicts do not take: `x[:, 0]`, `x[..., 0]`, `x[x > y]`.
bool is_index_of_array(Node subscript) {
  std::size_t parts = 0;
  bool array = false;
  for (Node part = subscript.first_child(); part; part = part.next_sibling()) {
    if (part.field() != Field::kSubscriptPart) continue;
    ++parts;
    array |= part.is_any(Kind::kSlice, Kind::kEllipsis);
    if (part.is(Kind::kComparison)) return true;
  }
  return array && parts > 1;
}

// A local name of a function, as it is bound at one place.
class LocalName {
 public:
  LocalName(const SemanticModel& model, Node identifier)
      : model_(model),
        name_(identifier),
        bindings_(model.scopes().reaching(identifier.text(), identifier)) {}

  // Whether the name is the same at both places.
  [[nodiscard]] bool is_same_at(Node place) const {
    return model_.scopes().reaching(name_.text(), place) == bindings_;
  }

  // Whether the name may be a tensor of its own function that has come to its place: a parameter
  // without a default, or what was assigned; not what a loop takes from its data.
  [[nodiscard]] bool may_be_placed() const {
    const Node function = model_.scopes().scope_node(name_);
    if (bindings_.size() != 1 || !function.is(Kind::kFunction) || name_.text() == "self")
      return false;
    return std::all_of(bindings_.begin(), bindings_.end(), [&](const Binding* binding) {
      if (model_.scopes().scope_node(binding->target) != function) return false;
      if (binding->kind == BindingKind::kParameter) return !binding->value && !binding->unpacked;
      return binding->kind == BindingKind::kAssign && !is_taken_from_data(*binding);
    });
  }

  // Whether the function uses the name as only a tensor can be used.
  [[nodiscard]] bool is_tensor(bool subscripts_count) const {
    const semantics::Value value = model_.value(name_);
    if (value.device_state == semantics::DeviceState::kCpu || value.is(Type::kNumpy)) return false;
    if (value.is(Type::kTensor)) return true;
    if (bindings_.front()->annotation)
      return model_.qualified(bindings_.front()->annotation.first_child()) == "torch.Tensor";
    return std::any_of(uses_.begin(), uses_.end(), [&](Node use) {
      const std::string_view asked = asked_of(use);
      if (is_of_tensors_only(asked)) return true;
      const Node parent = use.parent();
      if (asked == "size") return parent.parent().is(Kind::kCall);
      if (parent.is(Kind::kSubscript) && use.field() == Field::kValue)
        return subscripts_count && is_index_of_array(parent);
      return parent.is(Kind::kArgumentList) &&
             model_.called(parent.parent()).starts_with("torch.nn.functional.");
    });
  }

  // Whether the function uses the name as a tensor that has dimensions. One without may be on the
  // CPU wherever the others are.
  [[nodiscard]] bool has_dimensions() const {
    return std::any_of(uses_.begin(), uses_.end(), [&](Node use) {
      const Node parent = use.parent();
      if (parent.is(Kind::kSubscript) && use.field() == Field::kValue)
        return is_index_of_array(parent);
      const std::string_view asked = asked_of(use);
      if (asked == "size")
        return parent.parent().is(Kind::kCall) && syntax::positional(parent.parent(), 0);
      return asked == "shape" && parent.parent().is(Kind::kSubscript);
    });
  }

  // Whether the function moves the tensor from here, or takes it for one on the CPU.
  [[nodiscard]] bool is_moved() const {
    return std::any_of(uses_.begin(), uses_.end(), [](Node use) {
      Node node = use;
      for (Node parent = node.parent(); parent; node = parent, parent = node.parent()) {
        if (parent.is(Kind::kAttribute)) {
          const std::string_view name = parent.child(Field::kAttributeName).text();
          if (name == "cuda" || name == "to" || name == "numpy" || name == "pin_memory")
            return true;
          if (name == "cpu" || is_about_tensor(name)) return false;
        } else if (parent.is(Kind::kArgumentList)) {
          if (!method_name(parent.parent()).ends_with("Variable")) return false;
        } else if (!parent.is_any(Kind::kCall, Kind::kSubscript, Kind::kParenthesized)) {
          return false;
        }
      }
      return false;
    });
  }

  // Whether an expression has the tensor itself as a part, and not only its size.
  [[nodiscard]] bool is_part_of(Node expression) const {
    return std::any_of(uses_.begin(), uses_.end(), [&](Node use) {
      return expression.holds(use) && !is_about_tensor(asked_of(use));
    });
  }

  void find_uses() {
    for (const Node use : model_.named(name_.text(), model_.scopes().scope_node(name_))) {
      const bool own = use.field() != Field::kAttributeName &&
                       !(use.field() == Field::kName && use.parent().is(Kind::kKeywordArgument));
      if (own && is_same_at(use)) uses_.push_back(use);
    }
  }

 private:
  // `images, labels = batch` for a batch of a loop, `x = batch["x"].float()`: nothing has moved it.
  [[nodiscard]] bool is_taken_from_data(const Binding& binding, int depth = 0) const {
    constexpr int kMostOfData = 8;
    Node source = syntax::unwrap(binding.value);
    for (int step = 0; step < kMostOfData && source; ++step) {
      if (source.is(Kind::kSubscript))
        source = source.child(Field::kValue);
      else if (source.is(Kind::kCall) && method_name(source).ends_with("Variable"))
        source = syntax::positional(source, 0);
      else if (source.is(Kind::kCall) && semantics::keeps_device(method_name(source)))
        source = object_of(source);
      else
        break;
      source = syntax::unwrap(source);
    }
    if (!source.is(Kind::kIdentifier)) return false;
    const auto from = model_.scopes().reaching(source.text(), source);
    return std::any_of(from.begin(), from.end(), [&](const Binding* other) {
      return other->kind == BindingKind::kFor ||
             (other->kind == BindingKind::kAssign && other != &binding && depth < kMostOfData &&
              is_taken_from_data(*other, depth + 1));
    });
  }

  const SemanticModel& model_;
  Node name_;
  semantics::Bindings bindings_;
  std::vector<Node> uses_;
};

// The name `x` in `x.size()`, `x.shape[0]`, `x.size(0)`, `len(x)`; invalid for anything else.
Node sized_by(Node value) {
  value = syntax::unwrap(value);
  if (value.is(Kind::kSubscript)) value = value.child(Field::kValue);
  if (value.is(Kind::kCall)) {
    if (method_name(value) != "size") return {};
    value = syntax::callee(value);
  } else if (!value.is(Kind::kAttribute) || value.child(Field::kAttributeName).text() != "shape") {
    return {};
  }
  const Node object = value.child(Field::kObject);
  return object.is(Kind::kIdentifier) ? object : Node{};
}

// The tensor from whose size a local number was taken: `B, C, H, W = x.size()`.
Node taken_from(const SemanticModel& model, Node number) {
  const auto bindings = model.scopes().reaching(number.text(), number);
  if (bindings.size() != 1 || bindings.front()->kind != BindingKind::kAssign) return {};
  const Node tensor = sized_by(bindings.front()->value);
  const bool before = tensor &&
                      model.scopes().scope_node(tensor) == model.scopes().scope_node(number) &&
                      syntax::statement_of(bindings.front()->target).parent().holds(number);
  return before && LocalName(model, tensor).is_same_at(number) ? tensor : Node{};
}

// The tensor behind `x`, `x[:, 0]`, `x.view(-1)`.
Node behind(Node operand) {
  for (operand = syntax::unwrap(operand); operand; operand = syntax::unwrap(operand)) {
    if (operand.is(Kind::kIdentifier)) return operand;
    if (operand.is(Kind::kSubscript))
      operand = operand.child(Field::kValue);
    else if (operand.is(Kind::kCall) && semantics::keeps_device(method_name(operand)))
      operand = object_of(operand);
    else
      return {};
  }
  return {};
}

// What an operator or an index takes together with an expression.
Node combined_with(Node expression) {
  Node node = chain_top(expression);
  while (node.parent().is(Kind::kParenthesized)) node = node.parent();
  const Node parent = node.parent();
  if (parent.is(Kind::kSubscript) && node.field() == Field::kSubscriptPart)
    return behind(parent.child(Field::kValue));
  if (parent.is(Kind::kAugmentedAssignment) && node.field() == Field::kRight)
    return behind(parent.child(Field::kLeft));
  if (!parent.is_any(Kind::kBinaryOperator, Kind::kComparison)) return {};
  const auto parts = parent.children();
  if (parts.size() != 3 || parts[1].text().find("in") != std::string_view::npos ||
      parts[1].text().find("is") != std::string_view::npos)
    return {};
  return behind(parts[0] == node ? parts[2] : parts[0]);
}

// Whether an operator takes an expression together with a scalar on another device, too.
bool takes_scalars(Node expression) {
  Node node = chain_top(expression);
  while (node.parent().is(Kind::kParenthesized)) node = node.parent();
  return node.parent().is_any(Kind::kBinaryOperator, Kind::kComparison);
}

// The expression that a node moves or makes: for `x.to("cuda")` the whole call.
Node placed_by(const SemanticModel& model, Node node) {
  if (node.is(Kind::kCall) && is_move(model, node)) return node;
  for (Node up = node.parent(); up; up = up.parent()) {
    if (up.is(Kind::kCall))
      return is_move(model, up) || semantics::is_factory(model.called(up)) ? up : Node{};
    if (!up.is_any(Kind::kArgumentList, Kind::kKeywordArgument)) return {};
  }
  return {};
}

bool is_usable(const LocalName& name, Node placed) {
  return !name.is_moved() && !name.is_part_of(placed);
}

}  // namespace

NearTensor near_tensor(const SemanticModel& model, Node node) {
  const Node placed = placed_by(model, node);
  const Node function = syntax::function_of(node);
  if (!placed || !function.is(Kind::kFunction) || model.value(placed).is(Type::kModule)) return {};
  const auto device_of = [&](Node tensor, bool combined) -> NearTensor {
    LocalName name(model, tensor);
    if (!name.may_be_placed()) return {};
    name.find_uses();
    if (!name.is_tensor(combined) || !is_usable(name, placed)) return {};
    const bool beside = tensor.parent().is_any(Kind::kBinaryOperator, Kind::kComparison);
    return {fmt::format("{}.device", tensor.text()),
            combined && (!takes_scalars(placed) || (beside && name.has_dimensions()))};
  };
  if (const Node other = combined_with(placed)) {
    if (NearTensor near = device_of(other, true); !near.device.empty()) return near;
  }
  if (flow::feeds_from_cpu(model, function)) return {};
  for (std::uint32_t i = placed.index(); i < placed.subtree_end(); ++i) {
    const Node part = model.tree().at(i);
    if (!part.is(Kind::kIdentifier) || part.field() == Field::kAttributeName) continue;
    const std::string_view asked = asked_of(part);
    const Node tensor = asked == "size" || asked == "shape" ? part : taken_from(model, part);
    if (!tensor) continue;
    if (NearTensor near = device_of(tensor, false); !near.device.empty()) return near;
  }
  return {};
}

}  // namespace torchport::rules
