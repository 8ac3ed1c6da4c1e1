#include "source/rules/placement/common/device_index.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/placement/common/cuda_api.h"
#include "source/rules/placement/common/device_text.h"
#include "source/rules/statements.h"
#include "source/semantics/guards.h"

namespace torchport::rules {

namespace {

constexpr int kMostSteps = 4;           // from a name to what it is bound to
constexpr std::size_t kMostEdits = 64;  // of one fix

// Names of numbers, wherever they stand for a device.
bool is_rank_name(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kNames{
      "rank", "local_rank", "_local_rank", "global_rank", "_rank", "proc_id"};
  return base::one_of(kNames, name);
}

// Names of what may be a number, a string or a device.
bool may_name_index(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kNames{
      "gpu",       "gpu_id",    "gpuid",      "gpu_idx",      "gpu_index", "device_id",
      "device_no", "device_ix", "device_idx", "device_index", "local_gpu", "cuda_id"};
  return is_rank_name(name) || base::one_of(kNames, name);
}

// Whether something in the range demands that an expression is a number: torch.cuda.set_device(x),
// device_ids=[x].
bool is_demanded_as_number(const SemanticModel& model, std::string_view text, Node range) {
  for (const Node call : model.nodes(Kind::kCall, range)) {
    if (model.called(call) == "torch.cuda.set_device" && syntax::positional(call, 0).text() == text)
      return true;
    const Node ids = syntax::keyword(call, "device_ids");
    if (ids.is(Kind::kList) && ids.first_child().text() == text) return true;
  }
  return false;
}

bool is_index(const SemanticModel& model, Node expression, int steps);

bool is_index_call(const SemanticModel& model, Node call) {
  const std::string& name = model.called(call);
  if (name == "torch.distributed.get_rank") return true;
  const std::string_view last = method_name(call);
  if (last == "get_rank" || last == "get_local_rank" || last == "local_rank") return true;
  const std::string said = base::lower(arguments_text(call));
  return name.empty() && last == "int" && said.find("rank") != std::string::npos;
}

bool is_index_binding(const SemanticModel& model, const semantics::Binding& binding, int steps) {
  if (binding.unpacked) return false;
  if (binding.kind == semantics::BindingKind::kAssign)
    return is_index(model, binding.value, steps + 1);
  if (binding.kind != semantics::BindingKind::kParameter) return false;
  const std::string_view hint = binding.annotation.text();
  if (!hint.empty()) return hint == "int" && may_name_index(binding.name);
  if (is_rank_name(binding.name)) return true;
  return may_name_index(binding.name) &&
         is_demanded_as_number(model, binding.name, syntax::function_of(binding.target));
}

bool is_index_attribute(const SemanticModel& model, Node attribute, int steps) {
  const std::string_view name = attribute.child(Field::kAttributeName).text();
  const Node object = attribute.child(Field::kObject);
  const semantics::ClassFacts* facts = model.enclosing_class(attribute);
  if (facts != nullptr && object.text() == model.self_name(attribute)) {
    const auto found = facts->attributes.find(name);
    if (found != facts->attributes.end()) {
      return std::all_of(found->second.begin(), found->second.end(), [&](const auto& one) {
        return is_index(model, one.value, steps + 1) ||
               (is_rank_name(name) && one.value.is_any(Kind::kAttribute, Kind::kCall) &&
                model.value(one.value).is(Type::kUnknown));
      });
    }
  }
  return is_rank_name(name) ||
         (may_name_index(name) &&
          is_demanded_as_number(model, attribute.text(), model.tree().root()));
}

bool is_index(const SemanticModel& model, Node expression, int steps) {
  expression = syntax::unwrap(expression);
  if (steps > kMostSteps) return false;
  switch (expression.kind()) {
    case Kind::kInteger:
      return true;
    case Kind::kCall:
      return is_index_call(model, expression);
    case Kind::kBinaryOperator:
      return expression.child(Field::kOperator).text() == "%" &&
             (is_index(model, expression.child(Field::kLeft), steps + 1) ||
              expression.child(Field::kRight).text().find("device_count()") !=
                  std::string_view::npos);
    case Kind::kIdentifier: {
      const auto bindings = model.scopes().reaching(expression.text(), expression);
      return !bindings.empty() &&
             std::all_of(bindings.begin(), bindings.end(), [&](const semantics::Binding* binding) {
               return is_index_binding(model, *binding, steps);
             });
    }
    case Kind::kAttribute:
      return is_index_attribute(model, expression, steps);
    default:
      return false;
  }
}

// What a piece of code does with the number of a device.
struct IndexUses {
  std::vector<Node> placing;  // calls with a placing_argument()
  std::vector<Node> setting;  // calls of torch.cuda.set_device
  bool elsewhere = false;     // other code uses the number, too
  bool rivals = false;        // the same code places by another number, too
  bool handed_on = false;     // see is_handed_on()
};

// The function around a node, or the module.
Node code_around(const SemanticModel& model, Node node) {
  const Node function = syntax::function_of(node);
  return function ? function : model.tree().root();
}

IndexUses look_for_uses(const SemanticModel& model, Node index, Node code) {
  IndexUses uses;
  for (const Node call : model.nodes(Kind::kCall, code)) {
    const bool sets = model.called(call) == "torch.cuda.set_device";
    const Node used = sets ? syntax::positional(call, 0) : placing_argument(model, call);
    if (!used || semantics::is_cuda_guarded(model, call)) continue;
    if (used.text() != index.text()) {
      uses.rivals |= !sets && used.is(Kind::kIdentifier) && is_device_index(model, used);
      continue;
    }
    if (code_around(model, call) != code) {
      uses.elsewhere = true;
    } else {
      (sets ? uses.setting : uses.placing).push_back(call);
    }
  }
  return uses;
}

// Whether the number is handed to a function that places things itself: `self.to_ctx(data, ctx)`.
bool is_handed_on(const SemanticModel& model, Node index, Node code) {
  for (const Node read : model.named(index.text(), code)) {
    Node list = read.parent();
    const bool by_keyword = list.is(Kind::kKeywordArgument);
    const std::string_view keyword = by_keyword ? list.child(Field::kName).text() : "";
    if (by_keyword) list = list.parent();
    const Node call = list.is(Kind::kArgumentList) ? list.parent() : Node{};
    if (!call.is(Kind::kCall) || !model.called(call).empty() ||
        placing_argument(model, call) == read)
      continue;
    const std::string to = base::lower(method_name(call));
    for (const std::string_view word : {"to_", "cuda", "move", "device", "gpu", "prefetch"})
      if (to.find(word) != std::string::npos) return true;
    if (keyword == "device") return true;
  }
  return false;
}

// The uses of each number in a file. Every finding asks for them.
class KnownUses {
 public:
  explicit KnownUses(const SemanticModel& model) : model_(model) {}

  const IndexUses& of(Node index) const {
    const Node code = code_around(model_, index);
    const auto [entry, fresh] = known_.try_emplace({code.index(), index.text()});
    if (fresh) {
      entry->second = look_for_uses(model_, index, code);
      entry->second.handed_on = is_handed_on(model_, index, code);
    }
    return entry->second;
  }

 private:
  const SemanticModel& model_;
  mutable std::map<std::pair<std::uint32_t, std::string_view>, IndexUses> known_;
};

// The statement before which the device can be made; invalid if there is none.
Node place_for_device(Node index, const IndexUses& uses) {
  const Node function = syntax::function_of(index);
  if (function.is(Kind::kLambda)) return {};
  Node statement = syntax::statement_of(uses.placing.front());
  if (function) {
    statement = innermost_statement(function, uses.placing);
    for (Node up = statement.parent(); up && up != function; up = up.parent())
      if (up.is_any(Kind::kFor, Kind::kWhile)) statement = up;
  } else {
    while (statement && !statement.parent().is(Kind::kModule))
      statement = syntax::statement_of(statement.parent());
  }
  return statement && stands_alone(statement) ? statement : Node{};
}

// Whether the number is bound once, before the statement, to what is never None.
bool is_settled_before(const SemanticModel& model, Node index, Node statement) {
  if (!index.is(Kind::kIdentifier)) return false;
  const auto bindings = model.scopes().reaching(index.text(), index);
  if (bindings.size() != 1 || model.scopes().all(index.text(), index).size() != 1) return false;
  const semantics::Binding& binding = *bindings.front();
  if (binding.kind == semantics::BindingKind::kParameter)
    return !binding.value.is(Kind::kNone) &&
           syntax::function_of(binding.target) == syntax::function_of(index);
  const Node bound = syntax::statement_of(binding.target);
  return bound.end() <= statement.start() && bound.parent().holds(statement);
}

std::string_view free_name(const SemanticModel& model) {
  for (const std::string_view name : {"device", "rank_device"}) {
    if (!model.scopes().is_bound_anywhere(name)) return name;
  }
  return {};
}

// The edit by which a placing call uses the device.
Edit use_device(const SemanticModel& model, Node call, Node index, std::string_view device) {
  if (model.called(call) == "torch.device") return replace(call, std::string(device));
  if (method_name(call) != "cuda") return replace(index, std::string(device));
  const Node non_blocking = syntax::keyword(call, "non_blocking");
  return {method_span(call),
          non_blocking ? fmt::format(".to({}, non_blocking={})", device, non_blocking.text())
                       : fmt::format(".to({})", device)};
}

}  // namespace

bool is_device_index(const SemanticModel& model, Node expression) {
  return expression && is_index(model, expression, 0);
}

Node placing_argument(const SemanticModel& model, Node call) {
  const std::string& name = model.called(call);
  if (semantics::is_factory(name) || name == "torch.Generator")
    return syntax::keyword(call, "device");
  if (name == "torch.device")
    return syntax::positional(call, 1) ? Node{} : syntax::argument(call, 0, "device");
  if (!name.empty() || !object_of(call)) return {};
  const std::string_view method = method_name(call);
  const Value object = model.value(object_of(call));
  if (object.is(Type::kNumpy) || object.is(Type::kForeign)) return {};
  if (method == "to" || method == "cuda") return syntax::argument(call, 0, "device");
  return method.starts_with("new_") ? syntax::keyword(call, "device") : Node{};
}

bool places_by_index(const PythonContext& context, Node index) {
  return !context.model.facts<KnownUses>().of(index).placing.empty();
}

Fix index_fix(const PythonContext& context, Node index) {
  const SemanticModel& model = context.model;
  Fix described{Applicability::kDisplay,
                "choose the device once, by the number with CUDA, and use it for all of these",
                {},
                {}};
  const IndexUses& uses = model.facts<KnownUses>().of(index);
  const std::string_view name = free_name(model);
  if (uses.placing.empty() || uses.placing.size() > kMostEdits || uses.elsewhere || uses.rivals ||
      uses.handed_on || name.empty())
    return described;
  const Node place = place_for_device(index, uses);
  if (!place || !is_settled_before(model, index, place)) return described;
  const std::string& torch = context.devices.torch_name();
  const DeviceText device =
      guarded_device(context, fmt::format("{}.device(\"cuda\", {})", torch, index.text()), false);
  Fix fix{Applicability::kSafe,
          fmt::format("choose the device once: `{} = {}.device(\"cuda\", {})`, or another without "
                      "CUDA, for everything that is placed by `{}`",
                      name, torch, index.text(), index.text()),
          {line_before(place, fmt::format("{} = {}", name, device.text))},
          device.needs};
  for (const Node call : uses.placing)
    fix.edits.push_back(use_device(model, call, placing_argument(model, call), name));
  for (const Node call : uses.setting) {
    const Node statement = statement_of_call(call);
    if (!statement || statement == place) return described;
    const auto guard = guard_statements({statement}, fmt::format("{}.cuda.is_available()", torch));
    fix.edits.insert(fix.edits.end(), guard.begin(), guard.end());
  }
  return fix;
}

}  // namespace torchport::rules
