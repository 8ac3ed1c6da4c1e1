// TP204: `x.to(device)` of a tensor as a statement.
#include "source/rules/rule.h"

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/tensors.h"

namespace torchport::rules::dropped_to {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP204",
    .name = "dropped-to",
    .family = "mismatch",
    .severity = Severity::kError,
    .summary = "a tensor's `.to()` returns the moved tensor, and the result is dropped",
    .on_accelerators = true,
};

// Whether the file uses libraries whose containers have a `.to()` that moves in place.
bool has_batches_that_move_themselves(const SemanticModel& model) {
  for (const std::string_view module : {"torch_geometric", "transformers", "dgl", "torchtext",
                                        "detectron2", "mmcv", "mmdet", "mmengine"}) {
    if (model.imports(module)) return true;
  }
  return false;
}

bool is_loader(const SemanticModel& model, Node iterable) {
  iterable = syntax::unwrap(iterable);
  // enumerate(loader), tqdm(loader), enumerate(tqdm(loader))
  while (iterable.is(Kind::kCall) && !model.value(iterable).is(Type::kDataLoader) &&
         syntax::positional(iterable, 0)) {
    iterable = syntax::unwrap(syntax::positional(iterable, 0));
  }
  if (model.value(iterable).is(Type::kDataLoader)) return true;
  const std::string_view name = iterable.is(Kind::kAttribute)
                                    ? iterable.child(Field::kAttributeName).text()
                                    : iterable.text();
  const std::string lower = base::lower(name);
  return lower.ends_with("loader") || lower.ends_with("dataloader") || lower.ends_with("_dl");
}

// Whether the receiver is one of several items of a batch: `for images, target in loader`.
bool is_batch_item(const SemanticModel& model, Node receiver) {
  if (!receiver.is(Kind::kIdentifier)) return false;
  const auto bindings = model.scopes().reaching(receiver.text(), receiver);
  if (bindings.size() != 1 || bindings.front()->kind != semantics::BindingKind::kFor ||
      !bindings.front()->unpacked)
    return false;
  const semantics::Binding& binding = *bindings.front();
  if (!is_loader(model, binding.value)) return false;
  // In `for i, batch in enumerate(loader)` one name is the whole batch: a dict, a list, or an
  // object.
  const bool counted =
      binding.value.is(Kind::kCall) && syntax::callee(binding.value).text() == "enumerate";
  return !counted ||
         binding.target.parent().parent().is_any(Kind::kPatternList, Kind::kTuplePattern);
}

// Whether the receiver is a parameter of forward() that is used as a tensor.
bool is_forward_input(const SemanticModel& model, Node receiver) {
  const Node function = syntax::function_of(receiver);
  const semantics::ClassFacts* facts = model.enclosing_class(receiver);
  if (facts == nullptr || !facts->is_module || function.child(Field::kName).text() != "forward")
    return false;
  const auto bindings = model.scopes().reaching(receiver.text(), receiver);
  if (bindings.size() != 1 || bindings.front()->kind != semantics::BindingKind::kParameter ||
      bindings.front()->unpacked)
    return false;
  for (const Node read : reads_of(model, bindings.front()->target)) {
    const Node parent = read.parent();
    if (!parent.is(Kind::kAttribute) || read.field() != Field::kObject) continue;
    const std::string_view name = parent.child(Field::kAttributeName).text();
    if (semantics::keeps_device(name) || name == "size" || name == "shape") return true;
  }
  return false;
}

bool is_tensor(const SemanticModel& model, Node receiver) {
  if (!model.qualified(receiver).empty()) return false;
  const Value value = model.value(receiver);
  if (value.is(Type::kTensor)) return true;
  if (!value.is(Type::kUnknown) || has_batches_that_move_themselves(model)) return false;
  return is_batch_item(model, receiver) ||
         (receiver.is(Kind::kIdentifier) && is_forward_input(model, receiver));
}

bool is_assignable(Node receiver) {
  if (receiver.is(Kind::kIdentifier)) return true;
  if (receiver.is(Kind::kAttribute)) return is_assignable(receiver.child(Field::kObject));
  return receiver.is(Kind::kSubscript) && is_assignable(receiver.child(Field::kValue)) &&
         receiver.child(Field::kSubscriptPart)
             .is_any(Kind::kString, Kind::kInteger, Kind::kIdentifier);
}

void check(const PythonContext& context, Node statement, Reporter& reporter) {
  const SemanticModel& model = context.model;
  const Node call = statement.first_child();
  const Node receiver = object_of(call);
  if (!receiver || call.next_sibling()) return;
  const std::string_view method = method_name(call);
  if ((method != "to" && method != "cuda" && method != "cpu") || !is_move(model, call) ||
      !is_assignable(receiver) || !is_tensor(model, receiver))
    return;
  Finding& finding =
      reporter.report(base::Span{receiver.end() + 1, call.end()},
                      fmt::format("`{}` of a tensor returns the moved tensor, and it is dropped "
                                  "here: `{}` stays where it is.",
                                  method, receiver.text()));
  if (statement.end() != call.end()) return;  // `x.to(device),` is a tuple
  Fix fix;
  fix.applicability = Applicability::kUnsafe;
  fix.title = fmt::format("keep the result: {} = ...", receiver.text());
  fix.edits = {insert_before(statement, fmt::format("{} = ", receiver.text()))};
  finding.fix.push_back(std::move(fix));
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kExpressionStatement},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::dropped_to
