#include "source/rules/placement/common/literal_use.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/placement/common/device_text.h"
#include "source/rules/tensors.h"

namespace torchport::rules {

namespace {

using semantics::Binding;
using semantics::BindingKind;

// Whether a condition asks what kind of index a parameter is: `isinstance(devices[0], int)`,
// `device < 0`, `device == -1`.
bool asks_for_index(const SemanticModel& model, Node condition, std::string_view parameter) {
  if (!condition) return false;
  for (const Node use : model.named(parameter, condition)) {
    if (use.field() == Field::kAttributeName) continue;
    Node node = use;
    if (node.parent().is(Kind::kSubscript) && node.field() == Field::kValue) node = node.parent();
    const Node parent = node.parent();
    if (parent.is(Kind::kArgumentList) && method_name(parent.parent()) == "isinstance") return true;
    const auto parts = parent.is(Kind::kComparison) ? parent.children() : std::vector<Node>{};
    if (parts.size() != 3 || parts[0] != node) continue;
    const std::string_view asked = parts[1].text();
    const std::string_view other = parts[2].text();
    // `rank == 0` asks for the first worker.
    if (other == "-1" || (other == "0" && (asked == "<" || asked == ">="))) return true;
  }
  return false;
}

// Whether a branch around a node is chosen by the kind of a parameter.
bool is_chosen_by_kind(const SemanticModel& model, Node node, std::string_view parameter) {
  for (Node up = node.parent(); up && !up.is_any(Kind::kFunction, Kind::kModule);
       up = up.parent()) {
    if (up.is(Kind::kConditional)) {
      const auto parts = up.children();
      if (parts.size() == 3 && asks_for_index(model, parts[1], parameter)) return true;
    }
    if (!up.is(Kind::kIf)) continue;
    if (asks_for_index(model, up.child(Field::kCondition), parameter)) return true;
    for (Node part = up.first_child(); part; part = part.next_sibling())
      if (part.is(Kind::kElif) && asks_for_index(model, part.child(Field::kCondition), parameter))
        return true;
  }
  return false;
}

// The parameter that a name is, or of whose elements it is one: `for d in devices`.
std::string_view parameter_behind(const SemanticModel& model, Node name, int depth = 0) {
  const auto bindings = model.scopes().reaching(name.text(), name);
  if (bindings.size() != 1 || depth > 1) return {};
  const Binding& binding = *bindings.front();
  if (binding.kind == BindingKind::kParameter)
    return model.scopes().scope_node(binding.target).is(Kind::kFunction) ? binding.name
                                                                         : std::string_view{};
  return binding.kind == BindingKind::kFor && binding.value.is(Kind::kIdentifier)
             ? parameter_behind(model, binding.value, depth + 1)
             : std::string_view{};
}

// Whether a function can read its variables in other ways than by their names.
bool reads_by_other_ways(const SemanticModel& model, Node function) {
  static constexpr std::array<std::string_view, 5> kFunctions{"locals", "globals", "vars", "eval",
                                                              "exec"};
  static constexpr std::array<std::string_view, 2> kMethods{"save_hyperparameters", "currentframe"};
  const auto any = [&](std::string_view name, bool method) {
    const auto places = model.named(name, function);
    return std::any_of(places.begin(), places.end(), [&](Node place) {
      return method || place.field() != Field::kAttributeName;
    });
  };
  return std::any_of(kFunctions.begin(), kFunctions.end(),
                     [&](std::string_view name) { return any(name, false); }) ||
         std::any_of(kMethods.begin(), kMethods.end(),
                     [&](std::string_view name) { return any(name, true); });
}

// The name that is bound to what an expression is a part of: `device = "cuda"`, `args = {"device":
// "cuda"}`.
Node name_of_whole(Node site) {
  Node whole = site;
  while (whole.parent().is_any(Kind::kParenthesized, Kind::kPair, Kind::kDictionary))
    whole = whole.parent();
  const Node assignment = whole.parent();
  const bool bound = assignment.is(Kind::kAssignment) && whole.field() == Field::kRight &&
                     assignment.parent().is(Kind::kExpressionStatement);
  const Node name = bound ? assignment.child(Field::kLeft) : Node{};
  return name.is(Kind::kIdentifier) ? name : Node{};
}

// Whether the body of a function only says what it is for, raises, or returns nothing of its own.
bool is_stub(Node function) {
  const Node body = function.child(Field::kBody);
  for (Node statement = body.first_child(); statement; statement = statement.next_sibling()) {
    const Node value = statement.first_child();
    const bool says = statement.is(Kind::kExpressionStatement) &&
                      value.is_any(Kind::kString, Kind::kConcatenatedString, Kind::kEllipsis);
    const bool gives =
        statement.is(Kind::kReturn) &&
        (!value || value.is_any(Kind::kNone, Kind::kIdentifier, Kind::kTrue, Kind::kFalse));
    if (!says && !gives && !statement.is_any(Kind::kPass, Kind::kRaise)) return false;
  }
  return true;
}

}  // namespace

bool is_callers_index(const SemanticModel& model, const semantics::Literal& literal) {
  if (!literal.formatted) return false;
  const Node site = literal.site();
  for (std::uint32_t i = site.index(); i < site.subtree_end(); ++i) {
    const Node name = model.tree().at(i);
    if (!name.is(Kind::kIdentifier) || name.field() == Field::kAttributeName) continue;
    const std::string_view parameter = parameter_behind(model, name);
    // A worker's rank is given by what started it.
    const bool own = !parameter.empty() && parameter.find("rank") == std::string_view::npos;
    if (own && is_chosen_by_kind(model, site, parameter)) return true;
  }
  return false;
}

bool is_never_read(const PythonContext& context, Node site) {
  const SemanticModel& model = context.model;
  const Node name = name_of_whole(site);
  if (!name) return false;
  const Node scope = model.scopes().scope_node(name);
  const Node owner = model.scopes().owner(name.text(), name);
  if (owner != scope || reads_by_other_ways(model, scope)) return false;
  // Other files may read what a module has, but not what a notebook has.
  if (!scope.is(Kind::kFunction) && !(scope.is(Kind::kModule) && context.path.ends_with(".ipynb")))
    return false;
  return reads_of(model, name).empty();
}

bool is_parameter_unread(const SemanticModel& model, Node parameter) {
  const Node function = parameter.parent().parent();
  const Node target = parameter.child(Field::kName);
  if (!function.is(Kind::kFunction) || function.parent().is(Kind::kDecorated) ||
      reads_by_other_ways(model, function))
    return false;
  const auto reads = reads_of(model, target);
  // A function that does nothing may stand for others that do something.
  if (reads.empty() && is_stub(function)) return false;
  return std::none_of(reads.begin(), reads.end(), [&](Node read) {
    const auto bindings = model.scopes().reaching(read.text(), read);
    return std::any_of(bindings.begin(), bindings.end(),
                       [&](const Binding* binding) { return parameter.holds(binding->target); });
  });
}

bool is_beside_its_name(const semantics::Literal& literal) {
  const Node device = literal.device_call;
  const Node row = device.parent();
  if (!device || !row.is_any(Kind::kTuple, Kind::kList)) return false;
  bool test = false;
  for (Node up = row.parent(); up && !up.is_any(Kind::kBlock, Kind::kModule); up = up.parent())
    test |= up.is(Kind::kCall) && (method_name(up) == "parametrize" || method_name(up) == "param");
  if (!test) return false;
  for (Node other = row.first_child(); other; other = other.next_sibling()) {
    std::string text;
    if (other != device && syntax::string_value(other, text) && semantics::is_cuda_string(text))
      return true;
  }
  return false;
}

bool is_only_looked_at(const PythonContext& context, const semantics::Literal& literal) {
  const Node device = literal.device_call;
  if (!device || !context.is_test()) return false;
  const Node taker = device.parent().parent();
  if (!device.parent().is(Kind::kArgumentList) || !taker.is(Kind::kCall) || object_of(taker))
    return false;  // x.to(torch.device("cuda"))
  if (context.model.called(taker).starts_with("torch.")) return false;  // it may place something
  const Node around = taker.parent();
  if (around.is(Kind::kComparison)) return around.parent().is(Kind::kAssert);
  return around.is(Kind::kArgumentList) && method_name(around.parent()).starts_with("assert");
}

bool is_move_to_compared(const SemanticModel& model, Node site) {
  Node list = site.parent();
  if (list.is(Kind::kKeywordArgument)) list = list.parent();
  const Node call = list.parent();
  const Node object = call.is(Kind::kCall) && method_name(call) == "to" ? object_of(call) : Node{};
  if (!object) return false;
  const std::string device = fmt::format("{}.device", object.text());
  for (Node up = call.parent(); up && !up.is_any(Kind::kFunction, Kind::kModule);
       up = up.parent()) {
    const Node condition = up.is(Kind::kIf) ? up.child(Field::kCondition) : Node{};
    if (!condition || condition.holds(call)) continue;
    for (const Node string : model.nodes(Kind::kString, condition)) {
      std::string text;
      if (syntax::string_value(string, text) && semantics::is_cuda_string(text) &&
          condition.text().find(device) != std::string_view::npos)
        return true;
    }
  }
  return false;
}

}  // namespace torchport::rules
