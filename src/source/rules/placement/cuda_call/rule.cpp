// TP101: `.cuda()` of tensors, modules, and functions that map over them.
#include "source/rules/rule.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/placement/common/build_test.h"
#include "source/rules/placement/common/device_index.h"
#include "source/rules/placement/common/device_text.h"
#include "source/rules/statements.h"
#include "source/rules/tensors.h"
#include "source/semantics/cuda_flags.h"
#include "source/semantics/guards.h"
#include "source/semantics/own_moves.h"
#include "source/semantics/visible_devices.h"

namespace torchport::rules::cuda_call {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP101",
    .name = "cuda-call",
    .family = "placement",
    .severity = Severity::kError,
    .summary = "`.cuda()` sends a tensor or module to CUDA and nowhere else",
    .void_with_cuda = true,
};

// Whether a name is imported from what may be a module of the project: `from weights import W`.
bool is_of_project(const SemanticModel& model, Node name) {
  if (!name.is(Kind::kIdentifier)) return false;
  const auto bindings = model.scopes().reaching(name.text(), name);
  if (bindings.size() != 1 || bindings.front()->kind != semantics::BindingKind::kImport)
    return false;
  const Node import = syntax::statement_of(bindings.front()->value);
  return import.is(Kind::kImportFrom) && semantics::may_be_of_project(import);
}

// Whether the object is of another library, or of a class of this file that is not a module and has
// a `cuda` of its own.
bool is_foreign(const SemanticModel& model, Node object) {
  const std::string& name = model.qualified(object);
  if (!name.empty() && !is_of_project(model, object))
    return !name.starts_with("torch.") || name == "torch.cuda";
  const Value value = model.value(object);
  if (value.is(Type::kNumpy) || value.is(Type::kString) || value.is(Type::kNumber)) return true;
  if (!value.is(Type::kForeign)) return false;
  const semantics::ClassFacts* facts = model.class_named(value.text);
  return facts == nullptr || facts->methods.contains("cuda");
}

// Whether the node is in a method `cuda` that moves its parts (`def cuda(self): self.x =
// self.x.cuda()`). Such a method is an interface that its callers use on purpose.
bool inside_cuda_method(Node node) {
  for (Node function = syntax::function_of(node); function;
       function = syntax::function_of(function)) {
    if (function.is(Kind::kFunction) && function.child(Field::kName).text() == "cuda") return true;
  }
  return false;
}

// A class that is no module and has a `cuda` but no `to`: its callers keep their call, and the
// method is rewritten.
bool has_cuda_only(const semantics::ClassFacts& facts) {
  return !facts.is_module && facts.methods.contains("cuda") && !facts.methods.contains("to");
}

// Whether a class of the file may do more in `cuda` than in `to`, or other things in `to`.
bool moves_itself(const SemanticModel& model, const semantics::ClassFacts& facts) {
  return semantics::has_method(model, facts, "cuda") || semantics::has_method(model, facts, "to");
}

// The classes of the file that move in their own way.
struct OwnMethods {
  explicit OwnMethods(const SemanticModel& model) : any(semantics::patches_moves(model)) {
    for (const Node node : model.nodes(Kind::kClass)) {
      const semantics::ClassFacts* facts = model.class_facts(node);
      if (facts == nullptr) continue;
      any |= facts->methods.contains("cuda") ||
             (!facts->bases.empty() && semantics::has_method(model, *facts, "to"));
      cuda_only |= has_cuda_only(*facts);
    }
  }
  bool any = false;
  bool cuda_only = false;
};

// Whether an object is a storage, whose `.to()` takes keywords alone: `x.untyped_storage()`,
// `torch.FloatStorage(3)`, also through a name.
bool is_storage(const SemanticModel& model, Node object, int depth = 0) {
  constexpr int kMostNames = 3;
  object = syntax::unwrap(object);
  if (object.is(Kind::kCall)) {
    const std::string_view method = method_name(object);
    return method == "storage" || method == "untyped_storage" || method == "_typed_storage" ||
           model.called(object).ends_with("Storage");
  }
  if (!object.is(Kind::kIdentifier) || depth >= kMostNames) return false;
  const auto bindings = model.scopes().reaching(object.text(), object);
  return std::any_of(bindings.begin(), bindings.end(), [&](const semantics::Binding* binding) {
    return binding->kind == semantics::BindingKind::kAssign && binding->value &&
           is_storage(model, binding->value, depth + 1);
  });
}

// The call that made an object, as far as one name shows it.
Node maker_of(const SemanticModel& model, Node object) {
  object = syntax::unwrap(object);
  if (object.is(Kind::kIdentifier)) {
    const auto bindings = model.scopes().reaching(object.text(), object);
    if (bindings.size() == 1 && bindings.front()->kind == semantics::BindingKind::kAssign &&
        !bindings.front()->unpacked)
      object = syntax::unwrap(bindings.front()->value);
  }
  return object.is(Kind::kCall) ? object : Node{};
}

// Whether an object is made from a class of the project that may have moves from elsewhere: of this
// file with a base of another one or a decorator, or imported.
bool is_of_open_class(const SemanticModel& model, Node object) {
  const Node maker = maker_of(model, object);
  if (!maker) return false;
  const Node kind = syntax::callee(maker);
  if (const semantics::ClassFacts* facts = model.class_named(kind.text())) {
    return facts->node.parent().is(Kind::kDecorated) ||
           std::any_of(facts->bases.begin(), facts->bases.end(), [&](const std::string& base) {
             return !base.starts_with("torch.") && base != "object";
           });
  }
  return !model.qualified(kind).starts_with("torch.") &&
         semantics::names_imported_class(model, kind);
}

// How far `.cuda()` of an object may be rewritten, if some class of the project has moves of its
// own: an object of the project's own class may have a `cuda` that does more than `to`, or no `to`.
Applicability most_for(const SemanticModel& model, Node object, bool moves) {
  if (is_storage(model, object)) return Applicability::kDisplay;
  const Value value = model.value(object);
  if (value.is(Type::kTensor)) return Applicability::kSafe;
  if (moves && is_of_open_class(model, object)) return Applicability::kDisplay;
  if (value.is(Type::kModule)) {
    if (const semantics::ClassFacts* facts = model.class_named(value.text)) {
      // `.to()` would leave behind what the class moves in its own method, or be no move.
      if (moves_itself(model, *facts)) return Applicability::kDisplay;
      return semantics::patches_moves(model) ? Applicability::kUnsafe : Applicability::kSafe;
    }
    if (value.text.starts_with("torch.")) return Applicability::kSafe;
  }
  if (model.facts<OwnMethods>().cuda_only) return Applicability::kDisplay;
  return moves ? Applicability::kUnsafe : Applicability::kSafe;
}

// Whether torch.arange() may step by fractions: the CPU adds them as doubles, and CUDA as floats.
bool steps_by_fractions(Node factory) {
  if (method_name(factory) != "arange") return false;
  const auto arguments = syntax::arguments(factory);
  std::size_t numbers = 0;
  for (const syntax::Argument& argument : arguments) {
    if (argument.keyword == "dtype") continue;
    ++numbers;
    if (argument.value.text().find_first_of("./") != std::string_view::npos &&
        !argument.value.is(Kind::kAttribute))
      return true;
  }
  return numbers > 2 && !syntax::argument(factory, 2, "step").is(Kind::kInteger);
}

// Whether a factory call such as torch.zeros(...).cuda() can create its tensor on the device.
// Random numbers cannot: another generator would draw them. Nor can numbers that both compute in
// other ways.
bool is_plain_factory(const SemanticModel& model, Node object) {
  // A leaf stays on the CPU where its copy goes to the device, and `out` is where it is.
  for (const std::string_view keyword : {"device", "requires_grad", "out"})
    if (syntax::keyword(object, keyword)) return false;
  if (!object.is(Kind::kCall) || syntax::has_splat(object)) return false;
  const std::string& name = model.called(object);
  for (const std::string_view plain :
       {"torch.zeros", "torch.ones", "torch.empty", "torch.full", "torch.arange", "torch.eye",
        "torch.tensor", "torch.zeros_like", "torch.ones_like"}) {
    if (name == plain) return !name.ends_with("_like") && !steps_by_fractions(object);
  }
  return false;
}

// The lambda in map_location=lambda storage, loc: storage.cuda(). A storage's .to() does not take a
// device, so the device itself replaces the lambda.
Node map_location_lambda(Node call) {
  const Node lambda = syntax::function_of(call);
  const bool is_value = lambda.is(Kind::kLambda) && lambda.child(Field::kBody) == call &&
                        lambda.parent().is(Kind::kKeywordArgument);
  return is_value && lambda.parent().child(Field::kName).text() == "map_location" ? lambda : Node{};
}

// The statement `index = torch.cuda.current_device()` if only this call reads the index; it is
// removed with the call.
Node index_made_for(const SemanticModel& model, Node call) {
  const Node index = syntax::positional(call, 0);
  if (!index.is(Kind::kIdentifier)) return {};
  const auto bindings = model.scopes().reaching(index.text(), index);
  if (bindings.size() != 1 || model.called(bindings.front()->value) != "torch.cuda.current_device")
    return {};
  const Node statement = syntax::statement_of(bindings.front()->target);
  const bool plain = plain_assignment(statement).child(Field::kLeft) == bindings.front()->target;
  const bool alone = plain && stands_alone(statement) &&
                     (statement.parent().first_child() != statement || statement.next_sibling());
  return alone && reads_of(model, bindings.front()->target).size() == 1 ? statement : Node{};
}

// The functions that ask for CUDA by a flag: `Sequencer(use_cuda=True)`.
struct AskingFunctions {
  explicit AskingFunctions(const SemanticModel& model) {
    for (const Node keyword : model.nodes(Kind::kKeywordArgument)) {
      const std::string_view name = keyword.child(Field::kName).text();
      if (!keyword.child(Field::kValue).is(Kind::kTrue) || !semantics::is_cuda_flag(name) ||
          semantics::is_negative_flag(name))
        continue;
      for (Node function = syntax::function_of(keyword); function;
           function = syntax::function_of(function))
        indexes.insert(function.index());
    }
  }
  std::unordered_set<std::uint32_t> indexes;
};

// Whether the function around a call asks for CUDA in other words, too. Who runs it without CUDA
// has to change both.
bool is_asked_for_beside(const SemanticModel& model, Node call) {
  const Node function = syntax::function_of(call);
  return function && model.facts<AskingFunctions>().indexes.contains(function.index());
}

// The device for a call of `.cuda()`; no text if it depends on a number that the file does not
// show.
struct Chosen {
  std::string text;
  edit::Needs needs;
  bool certain = false;
};

// `.cuda(1)` and `.cuda(device)` select one device of several, which has to stay.
Chosen chosen_device(const PythonContext& context, Node call) {
  const SemanticModel& model = context.model;
  const Node given = syntax::unwrap(syntax::argument(call, 0, "device"));
  if (!given || given.is(Kind::kNone)) {
    const edit::DeviceRef device = device_near(context, call);
    return {device.text, {{}, device.module_device}, device.certain};
  }
  if (given.is(Kind::kInteger)) {
    if (given.text() == "0" && model.calls_of("set_device").empty()) {
      const edit::DeviceRef device = device_near(context, call);
      return {device.text, {{}, device.module_device}, false};
    }
    DeviceText device = guarded_device(context, fmt::format("\"cuda:{}\"", given.text()), true);
    return {std::move(device.text), std::move(device.needs), false};
  }
  if (model.value(given).is(Type::kDevice)) return {std::string(given.text()), {}, false};
  return {};
}

// Whether a call has arguments that are neither the device nor `non_blocking=`.
bool has_other_arguments(Node call) {
  const auto arguments = syntax::arguments(call);
  return syntax::has_splat(call) || syntax::positional(call, 1) ||
         std::any_of(arguments.begin(), arguments.end(), [](const syntax::Argument& argument) {
           return !argument.keyword.empty() && argument.keyword != "device" &&
                  argument.keyword != "non_blocking";
         });
}

Fix described_fix(Node call) {
  const Node given = syntax::argument(call, 0, "device");
  return {
      Applicability::kDisplay,
      fmt::format("replace it with `.to(device)`, where `device` is `torch.device(\"cuda\", {})` "
                  "with CUDA and another one without; everything that meets it goes there, too",
                  given ? given.text() : "index"),
      {},
      {}};
}

Fix make_fix(const PythonContext& context, Node call, Node object) {
  if (const Node lambda = map_location_lambda(call)) {
    const edit::DeviceRef device = context.devices.at(lambda);
    Fix fix{device.certain ? Applicability::kSafe : Applicability::kUnsafe,
            fmt::format("load with map_location={}", device.text),
            {replace(lambda, device.text)},
            {}};
    fix.needs.module_device = device.module_device;
    if (const Node statement = index_made_for(context.model, call))
      fix.edits.push_back(erase(whole_lines(statement)));
    return fix;
  }
  const Node index = syntax::positional(call, 0);
  if (index.is(Kind::kIdentifier) && is_device_index(context.model, index)) {
    Fix fix = index_fix(context, index);
    if (fix.applicability != Applicability::kDisplay) return fix;
  }
  const Chosen chosen = chosen_device(context, call);
  if (chosen.text.empty()) return described_fix(call);
  Fix fix;
  fix.needs = chosen.needs;
  fix.applicability = chosen.certain && !is_asked_for_beside(context.model, call)
                          ? Applicability::kSafe
                          : Applicability::kUnsafe;
  std::string rest;
  if (const Node non_blocking = syntax::keyword(call, "non_blocking"))
    rest = fmt::format(", {}", non_blocking.parent().text());
  if (has_other_arguments(call)) fix.applicability = Applicability::kDisplay;
  if (rest.empty() && is_plain_factory(context.model, object)) {
    fix.title = fmt::format("make it there: device={}", chosen.text);
    fix.edits = {add_argument(object, fmt::format("device={}", chosen.text)),
                 erase(method_span(call))};
    return fix;
  }
  fix.title =
      fmt::format("replace `{}` with `.to({}{})`",
                  call.tree()->source().substr(method_span(call).start, method_span(call).size()),
                  chosen.text, rest);
  fix.edits = {{method_span(call), fmt::format(".to({}{})", chosen.text, rest)}};
  fix.applicability = std::max(
      fix.applicability, most_for(context.model, object, context.model.facts<OwnMethods>().any));
  return fix;
}

void check_call(const PythonContext& context, Node call, Reporter& reporter) {
  const Node object = object_of(call);
  if (!object || method_name(call) != "cuda") return;
  if (is_foreign(context.model, object)) return;
  const semantics::ClassFacts* around = context.model.enclosing_class(call);
  if (inside_cuda_method(call) && (around == nullptr || !has_cuda_only(*around))) return;
  if (object.is(Kind::kCall) && syntax::callee(object).text() == "super") return;
  if (semantics::is_cuda_guarded(context.model, call) || drives_kernels(context.model, call) ||
      is_about_cuda_tools(context, call) || is_in_cuda_class(call) || is_probed(call))
    return;
  if (context.is_test() && is_cuda_territory(context, call)) return;  // tests_cuda.py
  const base::Span span{object.end() + 1, call.end()};
  if (const Node test = build_test_around(context.model, call)) {
    reporter.report(span, message_of_build_test(test))
        .fix.push_back(fix_of_build_test(context, test));
    return;
  }
  const bool has_switch = semantics::knowledge_at(context.model, call).present;
  Finding& finding = reporter.report(
      span, has_switch ? "Unless it is switched off, this raises \"Torch not compiled with CUDA "
                         "enabled\" on a machine without CUDA."
                       : "On a machine without CUDA this raises \"Torch not compiled with CUDA "
                         "enabled\"; no other device is ever used.");
  finding.fix.push_back(make_fix(context, call, object));
  if (!is_plain_factory(context.model, object))
    finding.lowered.push_back(
        {{flow::Condition::Kind::kOwnMoves, {}, {}}, most_for(context.model, object, true)});
}

// Whether the method is handed on to be called: `map(torch.Tensor.cuda, xs)`, `move =
// torch.Tensor.cuda`. What overrides torch's functions only asks for it: `func in
// (torch.Tensor.to, torch.Tensor.cuda)`, `@implements(torch.Tensor.cuda)`.
bool is_handed_on(Node method) {
  const Node parent = method.parent();
  if (parent.is(Kind::kAssignment)) return method.field() == Field::kRight;
  const Node list = parent.is(Kind::kKeywordArgument) ? parent.parent() : parent;
  return list.is(Kind::kArgumentList) && !list.parent().parent().is(Kind::kDecorator);
}

// Checks the unbound methods torch.Tensor.cuda and nn.Module.cuda, which are passed to map() or
// apply().
void check_attribute(const PythonContext& context, Node attribute, Reporter& reporter) {
  if (attribute.child(Field::kAttributeName).text() != "cuda" ||
      attribute.field() == Field::kFunctionPart)
    return;
  const std::string& name = context.model.qualified(attribute);
  const bool unbound = name == "torch.Tensor.cuda" || name == "torch.nn.Module.cuda";
  const Value object = context.model.value(attribute.child(Field::kObject));
  const bool bound = name.empty() && (object.is(Type::kTensor) || object.is(Type::kModule)) &&
                     attribute.parent().is(Kind::kArgumentList);
  if ((!unbound && !bound) || !is_handed_on(attribute) ||
      semantics::is_cuda_guarded(context.model, attribute))
    return;
  Finding& finding = reporter.report(attribute,
                                     "This method is called later, and raises \"Torch not compiled "
                                     "with CUDA enabled\" on a machine without CUDA.");
  if (!unbound) return;
  const edit::DeviceRef device = context.devices.at(attribute);
  Fix fix;
  fix.applicability = device.certain ? Applicability::kSafe : Applicability::kUnsafe;
  fix.title = fmt::format("replace it with `lambda t: t.to({})`", device.text);
  fix.edits = {replace(attribute, fmt::format("lambda t: t.to({})", device.text))};
  fix.needs.module_device = device.module_device;
  finding.fix.push_back(std::move(fix));
}

void check(const PythonContext& context, Node node, Reporter& reporter) {
  if (node.is(Kind::kCall)) check_call(context, node, reporter);
  if (node.is(Kind::kAttribute)) check_attribute(context, node, reporter);
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kCall, Kind::kAttribute},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::cuda_call
