// TP202: tensors that a module holds as plain attributes.
#include "source/rules/rule.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/tensors.h"

namespace torchport::rules::unregistered_tensor {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP202",
    .name = "unregistered-tensor",
    .family = "mismatch",
    .severity = Severity::kError,
    .summary =
        "a tensor attribute of a module is neither parameter nor buffer, and stays where it was "
        "made",
    .on_accelerators = true,
};

constexpr edit::TorchVersion kPersistentSince{1, 5};

using Attribute = semantics::ClassFacts::Attribute;

// The value of a parameter whose default is a tensor of the file: `weight=CLASS_WEIGHTS`.
Value value_of(const SemanticModel& model, Node value) {
  value = syntax::unwrap(value);
  if (value.is(Kind::kIdentifier)) {
    const auto bindings = model.scopes().reaching(value.text(), value);
    if (bindings.size() == 1 && bindings.front()->kind == semantics::BindingKind::kParameter &&
        bindings.front()->value) {
      const Value given = model.value(bindings.front()->value);
      if (given.is(Type::kTensor)) return given;
    }
  }
  return model.value(value);
}

// Whether a tensor has no dimensions, such as torch.tensor(0.5) or torch.sqrt(torch.tensor(dim)),
// and so goes with any device.
bool is_scalar(const SemanticModel& model, Node value) {
  Node made = value_of(model, value).origin;
  for (int depth = 0; depth < 4 && made.is(Kind::kCall); ++depth) {
    const std::string& name = model.called(made);
    const Node first = syntax::positional(made, 0);
    const Value given = model.value(first);
    if (name == "torch.tensor" || name == "torch.as_tensor" || name == "torch.scalar_tensor") {
      return !first.is_any(Kind::kList, Kind::kTuple, Kind::kListComprehension) &&
             !given.is(Type::kContainer) && !given.is(Type::kNumpy) && !given.is(Type::kTensor);
    }
    if (semantics::is_factory(name))
      return first.is_any(Kind::kTuple, Kind::kList) && !first.first_child();
    if (!name.starts_with("torch.") || !given.is(Type::kTensor) || given.origin == made)
      return false;
    made = given.origin;
  }
  return false;
}

bool is_init(Node function) {
  return function.is(Kind::kFunction) && function.child(Field::kName).text() == "__init__";
}

// Whether the attribute is passed to a function of the project, which may move it; is written to by
// `self.x[a:b] = y`, which copies between devices; or is put into a dict.
bool is_handed_on(const SemanticModel& model, Node read) {
  for (Node node = read; node && !node.is(Kind::kBlock); node = node.parent()) {
    const Node parent = node.parent();
    if (parent.is(Kind::kAssignment) && node.field() == Field::kLeft)
      return node.is(Kind::kSubscript);
    if (parent.is(Kind::kPair)) return true;
    if (!parent.is_any(Kind::kArgumentList, Kind::kKeywordArgument)) {
      if (parent.is_any(Kind::kSubscript, Kind::kSlice)) continue;
      return false;
    }
    const Node call =
        parent.is(Kind::kKeywordArgument) ? parent.parent().parent() : parent.parent();
    const std::string& name = model.called(call);
    if (!name.empty()) return !name.starts_with("torch.");
    const semantics::ClassFacts* facts = model.enclosing_class(call);
    return object_of(call).text() == model.self_name(call) && facts != nullptr &&
           facts->methods.contains(method_name(call));
  }
  return false;
}

// Whether the device matters at this read. It does not for an index, for numbers, or if the tensor
// is moved right there.
bool minds_place(const SemanticModel& model, Node read, bool hard_coded) {
  for (Node node = read; node; node = node.parent()) {
    const Node parent = node.parent();
    if (parent.is(Kind::kSubscript) && node.field() == Field::kSubscriptPart) return false;
    if (parent.is(Kind::kSubscript) && node.field() == Field::kValue) continue;
    if (parent.is(Kind::kSlice)) continue;
    if (!parent.is(Kind::kAttribute) || node.field() != Field::kObject) break;
    const std::string_view name = parent.child(Field::kAttributeName).text();
    static constexpr std::array<std::string_view, 20> kHarmless{
        "to",   "type_as", "cpu",      "tolist",  "item",    "numpy", "shape",
        "size", "dim",     "numel",    "device",  "dtype",   "ndim",  "copy_",
        "new",  "is_cuda", "uniform_", "normal_", "random_", "zero_"};
    if (hard_coded && (name == "to" || name == "type_as" || name == "cuda")) return true;
    if (name == "to" && !is_move(model, parent.parent())) break;
    if (std::find(kHarmless.begin(), kHarmless.end(), name) != kHarmless.end()) return false;
    if (!parent.parent().is(Kind::kCall)) break;
    node = parent;
  }
  if (is_handed_on(model, read)) return false;
  // `if self.rates[i] > 0.5:` and `if self.x is None:` only test it; the result is not a tensor.
  for (Node node = read; node && !node.is(Kind::kBlock); node = node.parent()) {
    if (node.is(Kind::kComparison) && node.text().find("None") != std::string_view::npos)
      return false;
    if (node.field() == Field::kCondition)
      return !node.is_any(Kind::kComparison, Kind::kBooleanOperator, Kind::kNotOperator);
  }
  return true;
}

// Whether the attribute is called, as a module is and a tensor is not.
bool is_called(const SemanticModel& model, const semantics::ClassFacts& facts,
               std::string_view name) {
  const auto reads = reads_of_attribute(model, facts, name);
  return std::any_of(reads.begin(), reads.end(), [](Node read) {
    return read.parent().is(Kind::kCall) && read.field() == Field::kFunctionPart;
  });
}

bool is_used(const SemanticModel& model, const semantics::ClassFacts& facts, std::string_view name,
             bool hard_coded) {
  const auto reads = reads_of_attribute(model, facts, name);
  return std::any_of(reads.begin(), reads.end(), [&](Node read) {
    return !is_init(syntax::function_of(read)) && minds_place(model, read, hard_coded);
  });
}

// Whether the class already handles it: it registers it, makes it a parameter, or moves it (`self.x
// = self.x.to(x.device)`).
bool is_taken_care_of(const SemanticModel& model, const semantics::ClassFacts& facts,
                      std::string_view name, const std::vector<Attribute>& all) {
  for (const Attribute& attribute : all) {
    const Value value = value_of(model, attribute.value);
    if (value.text.ends_with("Parameter")) return true;
    if (value.is(Type::kTensor) || value.is(Type::kNone)) {
      if (!is_init(attribute.function) && value.device_state == DeviceState::kFollows) return true;
      continue;
    }
    return true;  // another value in another branch, or created again where it is needed
  }
  for (const std::string_view method :
       {"register_buffer", "register_parameter", "setattr", "_apply"}) {
    for (const Node call : model.calls_of(method, facts.node)) {
      std::string text;
      const Node named = syntax::positional(call, method == "setattr" ? 1 : 0);
      if (!syntax::string_value(named, text) || text == name) return true;
    }
  }
  return facts.methods.contains("_apply") || facts.methods.contains("to") ||
         facts.methods.contains("cuda");
}

// Whether a value says on which of several devices it is: `torch.ones(2, device="cuda:1")`. As a
// buffer it would follow its module to another one.
bool is_on_one_of_several(const SemanticModel& model, Node value) {
  const auto strings = model.nodes(Kind::kString, value);
  const auto calls = model.calls_of("cuda", value);
  return std::any_of(strings.begin(), strings.end(),
                     [](Node string) {
                       std::string text;
                       return syntax::string_value(string, text) &&
                              semantics::is_cuda_string(text) && text != "cuda" && text != "cuda:0";
                     }) ||
         std::any_of(calls.begin(), calls.end(), [](Node call) {
           const Node given = syntax::argument(call, 0, "device");
           return given && given.text() != "0" && !given.is(Kind::kNone);
         });
}

// Whether register_buffer can be called here: after super().__init__(), while the name is unused,
// and if only tensors are assigned later.
bool can_register(const SemanticModel& model, const semantics::ClassFacts& facts,
                  std::string_view name, const Attribute& attribute,
                  const std::vector<Attribute>& all) {
  const Node statement = syntax::statement_of(attribute.target);
  const Node assignment = attribute.target.parent();
  if (!statement.is(Kind::kExpressionStatement) || statement.first_child() != assignment ||
      assignment.child(Field::kFieldType) || assignment.child(Field::kRight) != attribute.value) {
    return false;
  }
  const std::string_view before =
      std::string_view(model.tree().source())
          .substr(attribute.function.start(), statement.start() - attribute.function.start());
  for (const Attribute& other : all) {
    if (other.target == attribute.target) continue;
    // A method that __init__ called before has already used the name.
    const std::string_view setter = other.function.child(Field::kName).text();
    if (before.find(fmt::format(".{}(", setter)) != std::string_view::npos) return false;
    const Value value = model.value(other.value);
    if (is_init(other.function) || !(value.is(Type::kTensor) || value.is(Type::kNone)))
      return false;
  }
  for (Node line = facts.node.child(Field::kBody).first_child(); line; line = line.next_sibling()) {
    const Node body = line.is(Kind::kExpressionStatement) ? line.first_child() : Node{};
    if (body.is(Kind::kAssignment) && body.child(Field::kLeft).text() == name &&
        body.child(Field::kRight))
      return false;
  }
  return before.find(".__init__(") != std::string_view::npos &&
         !is_on_one_of_several(model, attribute.value) &&
         attribute.value.text().find("requires_grad") == std::string_view::npos;
}

// The call that moves the value, as in `torch.ones(3).cuda()`: a buffer moves with its module, so
// the call can go.
Node moved_by_hand(const SemanticModel& model, Node value) {
  const bool cuda = value.is(Kind::kCall) && method_name(value) == "cuda" &&
                    model.value(value).device_state == DeviceState::kCuda;
  return cuda && model.called(value).empty() ? value : Node{};
}

// Whether the file never moves an object of the class, so that its tensors are where they are
// made.
bool is_never_moved(const SemanticModel& model, const semantics::ClassFacts& facts) {
  const auto is_of_class = [&](Node call) {
    const Value value = model.value(object_of(call));
    return value.is(Type::kModule) && value.text == facts.name;
  };
  for (const std::string_view method : {"cuda", "to"}) {
    const auto calls = model.calls_of(method);
    if (std::any_of(calls.begin(), calls.end(), is_of_class)) return false;
  }
  return true;
}

void add_fix(const PythonContext& context, const semantics::ClassFacts& facts,
             std::string_view name, const Attribute& attribute, const std::vector<Attribute>& all,
             Finding& finding) {
  if (!can_register(context.model, facts, name, attribute, all)) return;
  const std::string_view self = attribute.target.child(Field::kObject).text();
  Fix fix;
  fix.applicability = context.settings.min_torch < kPersistentSince ? Applicability::kDisplay
                                                                    : Applicability::kUnsafe;
  fix.title =
      fmt::format("register it: {}.register_buffer(\"{}\", ..., persistent=False)", self, name);
  fix.edits.push_back({{attribute.target.start(), attribute.value.start()},
                       fmt::format("{}.register_buffer({}, ", self, quoted(context.model, name))});
  const Node call = moved_by_hand(context.model, attribute.value);
  if (call && !is_never_moved(context.model, facts)) {
    fix.edits.push_back({method_span(call), ", persistent=False)"});
  } else {
    fix.edits.push_back(insert_after(attribute.value, ", persistent=False)"));
  }
  finding.fix.push_back(std::move(fix));
}

void check(const PythonContext& context, Node node, Reporter& reporter) {
  const SemanticModel& model = context.model;
  const semantics::ClassFacts* facts = model.class_facts(node);
  if (facts == nullptr || !facts->is_module || context.is_test()) return;
  std::vector<std::pair<std::string_view, const std::vector<Attribute>*>> ordered;
  ordered.reserve(facts->attributes.size());
  for (const auto& [name, all] : facts->attributes) ordered.emplace_back(name, &all);
  std::sort(ordered.begin(), ordered.end());
  for (const auto& [name, all] : ordered) {
    bool checked = false;
    for (const Attribute& attribute : *all) {
      const Value value = value_of(model, attribute.value);
      if (!is_init(attribute.function) || !value.is(Type::kTensor)) continue;
      if (value.device_state != DeviceState::kCpu && value.device_state != DeviceState::kCuda)
        continue;
      if (value.text.ends_with("Parameter") || is_scalar(model, attribute.value)) continue;
      if (!checked &&
          (is_taken_care_of(model, *facts, name, *all) || is_called(model, *facts, name) ||
           !is_used(model, *facts, name, value.device_state == DeviceState::kCuda)))
        break;
      checked = true;
      Finding& finding = reporter.report(
          attribute.target, fmt::format("`.to(device)` of the module leaves `{}` behind, and the "
                                        "methods that use it raise \"Expected all "
                                        "tensors to be on the same device\".",
                                        attribute.target.text()));
      add_fix(context, *facts, name, attribute, *all, finding);
    }
  }
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kClass}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::unregistered_tensor
