#include "source/semantics/other_kinds.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "devices/device_kind.h"
#include "source/semantics/cuda_tests.h"
#include "source/semantics/guards.h"
#include "source/semantics/literals.h"

namespace torchport::semantics {

namespace {

using syntax::Field;
using syntax::Kind;

bool has_word(std::string_view text, std::string_view word) {
  const auto is_letter = [](char c) { return base::is_identifier_char(c) && c != '_'; };
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || !is_letter(text[at - 1])) && (end == text.size() || !is_letter(text[end])))
      return true;
  }
  return false;
}

}  // namespace

bool names_other_kinds(std::string_view text) {
  // Words for devices that are no kinds here. A word stays when it becomes a kind.
  static constexpr auto kOthers = std::to_array<std::string_view>(
      {"hpu", "xla", "tpu", "ipu", "directml", "accelerator", "mlu", "musa"});
  const std::string lower = base::lower(text);
  const auto& kinds = devices::kinds();
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const devices::DeviceKind& kind) {
                       return kind.name != "cuda" && has_word(lower, kind.name);
                     }) ||
         std::any_of(kOthers.begin(), kOthers.end(),
                     [&](std::string_view other) { return has_word(lower, other); });
}

bool other_kinds_are_near(Node node) {
  Node function = syntax::function_of(node);
  while (function.is(Kind::kLambda)) function = syntax::function_of(function);
  if (function) return names_other_kinds(function.text());
  Node top = node;
  while (top.parent() && !top.parent().is(Kind::kModule)) top = top.parent();
  if (names_other_kinds(top.text())) return true;
  Node before;
  for (Node other = top.parent().first_child(); other && other != top; other = other.next_sibling())
    before = other;
  if (before.is(Kind::kIf) && names_other_kinds(before.text())) return true;
  Node after = top.next_sibling();
  for (int i = 0; i < 4 && after; ++i, after = after.next_sibling()) {
    if (!after.is_any(Kind::kFunction, Kind::kClass) && names_other_kinds(after.text()))
      return true;
  }
  return false;
}

namespace {

bool is_only_with_cuda(const SemanticModel& model, Node node) {
  return knowledge_at(model, node).present && !other_kinds_are_near(node);
}

bool places(const SemanticModel& model, Node string) {
  const LiteralRole role = classify_literal(model, string).role;
  return role == LiteralRole::kPlacement || role == LiteralRole::kGuarded ||
         role == LiteralRole::kDefault;
}

// Whether an expression is a tensor type of CUDA: `torch.cuda.FloatTensor`.
bool is_cuda_type(const SemanticModel& model, Node attribute) {
  return attribute.child(Field::kAttributeName).text().ends_with("Tensor") &&
         model.qualified(attribute).starts_with("torch.cuda.");
}

bool names_float64(const SemanticModel& model) {
  for (const std::string_view name : {"float64", "double", "DoubleTensor"}) {
    const auto uses = model.named(name);
    if (std::any_of(uses.begin(), uses.end(), [&](Node use) {
          if (use.field() != Field::kAttributeName) return false;
          const std::string& whole = model.qualified(use.parent());
          const Node call = use.parent().parent();
          return whole.starts_with("torch.") ||
                 (name == "double" && whole.empty() && call.is(Kind::kCall) &&
                  syntax::callee(call) == use.parent() && syntax::arguments(call).empty());
        }))
      return true;
  }
  return false;
}

// Whether a condition is nothing but the question whether CUDA is there, or a name of its answer.
bool is_plain_test(const SemanticModel& model, Node condition, int depth = 0) {
  condition = syntax::unwrap(condition);
  while (condition.is(Kind::kNotOperator))
    condition = syntax::unwrap(condition.child(Field::kArgument));
  if (condition.is(Kind::kCall)) return model.called(condition) == "torch.cuda.is_available";
  if (!condition.is(Kind::kIdentifier) || depth > 3) return false;
  const auto bindings = model.scopes().reaching(condition.text(), condition);
  return bindings.size() == 1 && bindings.front()->kind == BindingKind::kAssign &&
         !bindings.front()->unpacked && is_plain_test(model, bindings.front()->value, depth + 1);
}

// `device if device.startswith("cuda") else "cpu"`: what is no CUDA device becomes the CPU.
bool leaves_on_cpu(const SemanticModel& model, Node conditional) {
  const auto parts = conditional.children();
  if (parts.size() != 3) return false;
  Node other = syntax::unwrap(parts[2]);
  if (other.is(Kind::kCall) && model.called(other) == "torch.device")
    other = syntax::positional(other, 0);
  std::string text;
  return syntax::string_value(other, text) && text == "cpu" &&
         !parts[0].is_any(Kind::kString, Kind::kCall) &&
         implied_by(model, parts[1], true).present && !other_kinds_are_near(conditional) &&
         !is_plain_test(model, parts[1]);
}

// Whether a call is tried, and the program goes on where it fails: `try: x = x.cuda()`.
bool is_tried(const SemanticModel& model, Node call) {
  for (Node up = syntax::statement_of(call); up; up = up.parent()) {
    if (up.is_any(Kind::kFunction, Kind::kModule)) return false;
    const Node attempt = up.parent();
    if (attempt.is(Kind::kTry) && attempt.first_child() == up)
      return !handlers_leave(model, attempt);
  }
  return false;
}

// Whether a text names CUDA in a string: `device.find("cuda") >= 0`, `re.match("cuda", device)`.
bool names_cuda(const SemanticModel& model, Node condition) {
  const auto strings = model.nodes(Kind::kString, condition);
  return std::any_of(strings.begin(), strings.end(), [](Node string) {
    return string.text().find("cuda") != std::string_view::npos;
  });
}

// The nearest test before or around a node that names CUDA in a string, whatever it asks of it.
Node test_with_cuda(const SemanticModel& model, Node node) {
  for (Node up = node; up.parent() && !up.is(Kind::kFunction); up = up.parent()) {
    const Node around = up.parent();
    Node condition;
    if (around.is_any(Kind::kIf, Kind::kElif, Kind::kWhile))
      condition = around.child(Field::kCondition);
    if (around.is(Kind::kConditional) && around.children().size() == 3)
      condition = around.children()[1];
    if (condition && condition != up && names_cuda(model, condition)) return condition;
    if (!around.is_any(Kind::kBlock, Kind::kModule)) continue;
    for (const Node exit : model.early_exits(around)) {
      if (exit.start() >= up.start()) break;
      if (exit.is(Kind::kIf) && names_cuda(model, exit.child(Field::kCondition)))
        return exit.child(Field::kCondition);
    }
  }
  return {};
}

// Whether a method call moves its object below a test that names CUDA and no other kind.
bool is_moved_by_text(const SemanticModel& model, Node call) {
  if (!syntax::callee(call).is(Kind::kAttribute) || !model.called(call).empty()) return false;
  const Node test = test_with_cuda(model, call);
  return test && !asks_machine(model, test) && !knowledge_at(model, call).absent &&
         !other_kinds_are_near(call);
}

// Whether a dictionary has one entry for each device, and none for other kinds than CUDA and the
// CPU: `{"cuda": to_cuda, "cpu": keep}[device]`. A map_location has devices for devices.
bool lists_cuda_and_cpu(Node dictionary) {
  bool cuda = false;
  bool cpu = false;
  std::string text;
  for (const Node pair : dictionary.children()) {
    if (!pair.is(Kind::kPair) || !syntax::string_value(pair.child(Field::kKey), text)) return false;
    if (is_cuda_string(text))
      cuda = true;
    else if (text == "cpu")
      cpu = true;
    else
      return false;
    if (syntax::string_value(pair.child(Field::kValue), text) && is_device_string(text))
      return false;
  }
  return cuda && cpu;
}

// Whether a call gets the method by the name of a device: `getattr(x, args.device)()`.
bool moves_by_name(const SemanticModel& model, Node call) {
  const Node getter = syntax::callee(call);
  if (!getter.is(Kind::kCall) || syntax::callee(getter).text() != "getattr" ||
      !model.qualified(getter).empty())
    return false;
  const Node name = syntax::positional(getter, 1);
  return name.is_any(Kind::kIdentifier, Kind::kAttribute) &&
         base::lower(name.text()).ends_with("device");
}

// Whether an expression is, or is bound to, the result of a move.
bool is_moved(const SemanticModel& model, Node value, int depth = 0) {
  if (value.is(Kind::kCall)) {
    const std::string_view method = syntax::end_of_name(syntax::callee(value));
    return method == "cuda" || method == "to" || syntax::keyword(value, "device");
  }
  constexpr int kMostNames = 3;
  if (!value.is(Kind::kIdentifier) || depth == kMostNames) return false;
  const auto bindings = model.scopes().reaching(value.text(), value);
  return !bindings.empty() && std::all_of(bindings.begin(), bindings.end(), [&](const auto* from) {
    return from->kind == BindingKind::kAssign && is_moved(model, from->value, depth + 1);
  });
}

struct OfFile {
  explicit OfFile(const SemanticModel& model) {
    // `from module import *` may bring torch.
    if (!model.imports_torch() && model.scopes().wildcards().empty()) return;
    const auto choices = model.nodes(Kind::kConditional);
    const auto dictionaries = model.nodes(Kind::kDictionary);
    const auto calls = model.nodes(Kind::kCall);
    found.keeps =
        names_float64(model) || moves_below_test(model) || has_unread_test(model) ||
        std::any_of(dictionaries.begin(), dictionaries.end(), lists_cuda_and_cpu) ||
        std::any_of(calls.begin(), calls.end(),
                    [&](Node call) {
                      return moves_by_name(model, call) || (is_data_parallel(model.called(call)) &&
                                                            gets_host_inputs(model, call));
                    }) ||
        std::any_of(choices.begin(), choices.end(),
                    [&](Node choice) { return leaves_on_cpu(model, choice); });
    found.chooses = std::any_of(calls.begin(), calls.end(), [&](Node call) {
      return is_data_parallel(model.called(call)) && !is_cuda_guarded(model, call);
    });
    for (const Node string : model.nodes(Kind::kString)) {
      if (string.text().find("cuda") == std::string_view::npos || !places(model, string) ||
          !is_only_with_cuda(model, string))
        continue;
      if (is_plain_test(model, knowledge_at(model, string).condition))
        found.chooses = true;
      else
        found.keeps = true;
    }
  }

  static bool moves_below_test(const SemanticModel& model) {
    const auto moves = [&](Node call) {
      return syntax::callee(call).is(Kind::kAttribute) && model.called(call).empty() &&
             (is_only_with_cuda(model, call) ||
              (syntax::callee(call).child(Field::kAttributeName).text() == "cuda" &&
               is_tried(model, call)));
    };
    // A choice of its own says where `.to(device)` goes behind the question whether there is CUDA.
    const auto moves_to = [&](Node call) {
      return moves(call) && !asks_machine(model, knowledge_at(model, call).condition);
    };
    const auto calls = model.calls_of("cuda");
    const auto moved_to = model.calls_of("to");
    const auto attributes = model.nodes(Kind::kAttribute);
    const auto by_text = [&](Node call) { return is_moved_by_text(model, call); };
    return std::any_of(calls.begin(), calls.end(), moves) ||
           std::any_of(moved_to.begin(), moved_to.end(), moves_to) ||
           std::any_of(calls.begin(), calls.end(), by_text) ||
           std::any_of(moved_to.begin(), moved_to.end(), by_text) ||
           std::any_of(attributes.begin(), attributes.end(), [&](Node attribute) {
             return is_cuda_type(model, attribute) && is_only_with_cuda(model, attribute);
           });
  }

  CudaOrCpu found;
};

}  // namespace

bool is_data_parallel(std::string_view qualified) {
  return qualified == "torch.nn.DataParallel" || qualified == "torch.nn.parallel.DataParallel" ||
         qualified == "torch.nn.parallel.data_parallel.DataParallel";
}

bool gets_host_inputs(const SemanticModel& model, Node wrapping) {
  const Node assignment = syntax::statement_of(wrapping).first_child();
  if (!assignment.is(Kind::kAssignment)) return false;
  const Node target = assignment.child(Field::kLeft);
  const auto calls = model.nodes(Kind::kCall);
  return std::any_of(calls.begin(), calls.end(), [&](Node call) {
    const Node callee = syntax::callee(call);
    // What a class wraps as `self.net`, its users know as `trainer.net`.
    const bool same = callee.text() == target.text() ||
                      (callee.is(Kind::kAttribute) && target.is(Kind::kAttribute) &&
                       syntax::end_of_name(callee) == syntax::end_of_name(target));
    if (!same) return false;
    const auto arguments = syntax::arguments(call);
    return std::any_of(arguments.begin(), arguments.end(), [&](const syntax::Argument& argument) {
      return !is_moved(model, argument.value);
    });
  });
}

CudaOrCpu cuda_or_cpu(const SemanticModel& model) {
  return model.facts<OfFile>().found;
}

}  // namespace torchport::semantics
