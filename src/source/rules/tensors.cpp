#include "source/rules/tensors.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "source/edit/quotes.h"

namespace torchport::rules {

using semantics::SemanticModel;
using syntax::Field;
using syntax::Kind;
using syntax::Node;

namespace {

std::string_view method_of(Node call) {
  const Node function = syntax::callee(call);
  return function.is(Kind::kAttribute) ? function.child(Field::kAttributeName).text()
                                       : std::string_view{};
}

// The call whose callee is `expression.method`; invalid if there is none.
Node method_call_on(Node expression) {
  const Node attribute = expression.parent();
  if (!attribute.is(Kind::kAttribute) || expression.field() != Field::kObject) return {};
  const Node call = attribute.parent();
  return call.is(Kind::kCall) && attribute.field() == Field::kFunctionPart ? call : Node{};
}

constexpr int kMaxNames = 4;  // between `.type(T)` and the type

bool is_cuda_type_name(std::string_view name) {
  return name.starts_with("torch.cuda.") && name.ends_with("Tensor");
}

// Whether the expression is, or may be, a tensor type of CUDA: `torch.cuda.FloatTensor`,
// "torch.cuda.FloatTensor", `torch.cuda.FloatTensor if cuda else torch.FloatTensor`, or a name of
// one.
bool may_be_cuda_type(const SemanticModel& model, Node expression, int depth) {
  expression = syntax::unwrap(expression);
  if (!expression || depth > kMaxNames) return false;
  if (expression.is(Kind::kConditional)) {
    const auto parts = expression.children();
    return std::any_of(parts.begin(), parts.end(),
                       [&](Node part) { return may_be_cuda_type(model, part, depth + 1); });
  }
  if (is_cuda_type_name(model.qualified(expression))) return true;
  if (const auto text = model.constant_string(expression)) return is_cuda_type_name(*text);
  if (!expression.is(Kind::kIdentifier)) return false;
  const auto bindings = model.scopes().reaching(expression.text(), expression);
  return std::any_of(bindings.begin(), bindings.end(), [&](const semantics::Binding* binding) {
    return binding->kind == semantics::BindingKind::kAssign && !binding->unpacked &&
           may_be_cuda_type(model, binding->value, depth + 1);
  });
}

}  // namespace

bool is_cuda_move(const SemanticModel& model, Node call) {
  const std::string_view method = method_of(call);
  return method == "cuda" ||
         (method == "type" && may_be_cuda_type(model, syntax::argument(call, 0, "dtype"), 0));
}

std::vector<Node> moves_in(const SemanticModel& model, Node range) {
  std::vector<Node> moves;
  for (const std::string_view method : {"to", "cuda", "type"})
    for (const Node call : model.calls_of(method, range))
      if (method == "to" || is_cuda_move(model, call)) moves.push_back(call);
  return moves;
}

bool is_move(const SemanticModel& model, Node call) {
  const std::string_view method = method_of(call);
  if (method == "cpu" || method == "type_as" || is_cuda_move(model, call)) return true;
  // x.type(y.type()) names the device of y, too.
  if (method == "type") return method_of(syntax::positional(call, 0)) == "type";
  if (method != "to") return false;
  if (syntax::keyword(call, "device") || syntax::has_splat(call)) return true;
  const Node first = syntax::positional(call, 0);
  if (!first) return syntax::keyword(call, "other").tree() != nullptr;
  const std::string& name = model.qualified(first);
  if (name.starts_with("torch.") && !name.starts_with("torch.cuda")) return false;
  if (first.is(Kind::kAttribute) && first.child(Field::kAttributeName).text() == "dtype")
    return false;
  const std::string_view text = first.text();
  return text != "dtype" && !text.ends_with("_dtype");
}

bool is_moved_above(const SemanticModel& model, Node expression) {
  for (Node node = expression; node; node = node.parent()) {
    if (const Node call = method_call_on(node); call && is_move(model, call)) return true;
    const Node parent = node.parent();
    if (parent.is_any(Kind::kBlock, Kind::kModule, Kind::kLambda, Kind::kFunction)) return false;
  }
  return false;
}

std::vector<Node> reads_of(const SemanticModel& model, Node target) {
  std::vector<Node> result;
  const std::string_view name = target.text();
  const Node scope = model.scopes().scope_node(target);
  // The bindings of the name's owner scope, looked up once per owner, because a name may be bound
  // as often as it is read.
  struct Bound {
    bool here = false;
    std::unordered_set<std::uint32_t> targets;
  };
  std::unordered_map<std::uint32_t, Bound> by_owner;
  const auto bound_by = [&](Node node) -> const Bound* {
    const Node owner = model.scopes().owner(name, node);
    if (!owner) return nullptr;
    const auto [entry, fresh] = by_owner.try_emplace(owner.index());
    if (fresh) {
      const auto bindings = model.scopes().all(name, node);
      entry->second.here =
          !bindings.empty() && model.scopes().scope_node(bindings.front()->target) == scope;
      for (const auto* binding : bindings) entry->second.targets.insert(binding->target.index());
    }
    return &entry->second;
  };
  for (const Node node : model.named(name, scope)) {
    const Node parent = node.parent();
    if (node.field() == Field::kAttributeName && parent.is(Kind::kAttribute)) continue;
    if (parent.is(Kind::kKeywordArgument) && node.field() == Field::kName) continue;
    if (parent.is(Kind::kDottedName)) continue;  // part of an import
    const Bound* owner = bound_by(node);
    if (owner == nullptr || !owner->here) continue;
    if (!owner->targets.contains(node.index()) || parent.is(Kind::kAugmentedAssignment))
      result.push_back(node);
  }
  return result;
}

std::vector<Node> reads_of_attribute(const SemanticModel& model, const semantics::ClassFacts& facts,
                                     std::string_view name) {
  std::vector<Node> result;
  const auto assigned = facts.attributes.find(name);
  for (const Node last : model.named(name, facts.node)) {
    const Node node = last.parent();
    if (!node.is(Kind::kAttribute) || last.field() != Field::kAttributeName) continue;
    const Node object = node.child(Field::kObject);
    if (!object.is(Kind::kIdentifier) || object.text() != model.self_name(node)) continue;
    if (model.enclosing_class(node) != &facts) continue;
    const bool bound = assigned != facts.attributes.end() &&
                       std::any_of(assigned->second.begin(), assigned->second.end(),
                                   [&](const auto& a) { return a.target == node; });
    if (!bound) result.push_back(node);
  }
  return result;
}

std::vector<Node> names_made_of(Node expression) {
  for (Node node = expression; node; node = node.parent()) {
    const Node parent = node.parent();
    if (parent.is(Kind::kAssignment)) {
      if (node.field() != Field::kRight) return {};
      const Node left = parent.child(Field::kLeft);
      if (left.is(Kind::kIdentifier)) return {left};
      std::vector<Node> names;
      for (Node part = left.first_child(); part; part = part.next_sibling()) {
        if (left.is_any(Kind::kPatternList, Kind::kTuplePattern) && part.is(Kind::kIdentifier))
          names.push_back(part);
      }
      return names;
    }
    if (parent.is_any(Kind::kBlock, Kind::kModule, Kind::kLambda, Kind::kFunction, Kind::kReturn))
      return {};
  }
  return {};
}

bool is_parallel_wrapper(std::string_view qualified) {
  if (!qualified.starts_with("torch.") && !qualified.starts_with("apex.")) return false;
  return qualified.ends_with(".DataParallel") || qualified.ends_with(".DistributedDataParallel");
}

Node chain_top(Node expression) {
  for (;;) {
    const Node call = method_call_on(expression);
    if (!call) return expression;
    expression = call;
  }
}

namespace {

struct Moves {
  explicit Moves(const SemanticModel& model) : any(moves_something(model)) {}
  bool any;

  static bool moves_something(const SemanticModel& model);
};

bool Moves::moves_something(const SemanticModel& model) {
  for (const Node call : model.nodes(Kind::kCall)) {
    const std::string_view method = method_of(call);
    if (method == "cuda" || (method == "to" && is_move(model, call))) return true;
    if (model.called(call) == "torch.device" &&
        syntax::positional(call, 0).text().find("cpu") == std::string_view::npos)
      return true;
  }
  return false;
}

}  // namespace

bool moves_things(const SemanticModel& model) {
  return model.facts<Moves>().any;
}

std::string quoted(const SemanticModel& model, std::string_view text) {
  return fmt::format("{0}{1}{0}", edit::preferred_quote(model), text);
}

}  // namespace torchport::rules
