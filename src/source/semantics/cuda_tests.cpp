#include "source/semantics/cuda_tests.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/text.h"
#include "source/semantics/cuda_flags.h"
#include "source/semantics/guards.h"
#include "source/semantics/other_kinds.h"

namespace torchport::semantics {

namespace {

using syntax::Field;
using syntax::Kind;

constexpr int kMostSteps = 4;  // from a name to the next

// A condition around a test: `not test`, `test and other`, `test == True`, `bool(test)`.
Node whole_condition(Node test) {
  for (Node up = test.parent(); up; up = up.parent()) {
    const bool is_bool = up.is(Kind::kArgumentList) && syntax::callee(up.parent()).text() == "bool";
    if (!is_bool && !up.is_any(Kind::kParenthesized, Kind::kNotOperator, Kind::kBooleanOperator,
                               Kind::kComparison))
      break;
    test = is_bool ? up.parent() : up;
    if (is_bool) up = test;
  }
  return test;
}

// Whether a number of devices is only asked whether it is none.
bool asks_for_none(Node count) {
  Node up = count.parent();
  while (up.is(Kind::kParenthesized)) up = up.parent();
  if (up.is(Kind::kArgumentList)) return syntax::callee(up.parent()).text() == "bool";
  if (up.is(Kind::kComparison)) {
    const auto parts = up.children();
    if (parts.size() != 3) return true;
    return parts[2].text() == "0" ||
           (parts[2].text() == "1" && parts[1].text() != ">" && parts[1].text() != "==");
  }
  return up.is_any(Kind::kNotOperator, Kind::kBooleanOperator, Kind::kMatch, Kind::kIf, Kind::kElif,
                   Kind::kConditional);
}

// Whether a name of an argument or of a key says that its value places nothing by itself, or that
// it is a flag, which is known by its name wherever it decides.
bool is_harmless_name(std::string_view name) {
  static constexpr auto kOthers = std::to_array<std::string_view>(
      {"pin_memory", "enabled", "fp16", "bf16", "amp", "use_amp", "half", "default", "file"});
  return is_cuda_flag(name) || base::one_of(kOthers, name);
}

bool is_flag_of_string(Node string) {
  std::string text;
  return syntax::string_value(string, text) && is_harmless_name(text);
}

struct UnreadTests {
  explicit UnreadTests(const SemanticModel& file) : model(file) {
    for (const Node function : model.nodes(Kind::kFunction))
      if (function.text().find("cuda") != std::string_view::npos)
        moving.insert(function.child(Field::kName).text());
    const auto calls = model.nodes(Kind::kCall);
    any = std::any_of(calls.begin(), calls.end(), [&](Node call) {
      const std::string& name = model.called(call);
      const bool asks = name == "torch.cuda.is_available" ||
                        name == "torch.backends.cuda.is_built" ||
                        (name == "torch.cuda.device_count" && asks_for_none(call));
      return asks && !other_kinds_are_near(call) && !is_read(call, 0);
    });
  }

  // Whether the analysis knows what follows from a test, or a name of its answer.
  [[nodiscard]] bool is_read(Node test, int steps) const {
    const Node whole = whole_condition(test);
    const Node user = whole.parent();
    switch (user.kind()) {
      case Kind::kExpressionStatement:
      case Kind::kAssert:
      case Kind::kInterpolation:
        return true;
      case Kind::kIf:
      case Kind::kElif:
      case Kind::kWhile:
        return decides(whole) && is_plain_choice(user);
      case Kind::kConditional:
        return user.children().size() == 3 && user.children()[1] == whole && decides(whole) &&
               !calls_mover(user);
      case Kind::kAssignment:
        return is_read_of(user.child(Field::kLeft), steps);
      case Kind::kDefaultParameter:
      case Kind::kTypedDefaultParameter:
        return is_cuda_flag(user.child(Field::kName).text());
      case Kind::kReturn:
        return is_cuda_flag(syntax::function_of(user).child(Field::kName).text());
      case Kind::kKeywordArgument:
        return is_harmless_name(user.child(Field::kName).text()) || is_harmless(user.parent());
      case Kind::kArgumentList:
        return is_cuda_flag(syntax::end_of_name(whole)) || is_harmless(user);
      case Kind::kPair:
        return is_flag_of_string(user.child(Field::kKey));
      case Kind::kBinaryOperator:
        return user.child(Field::kLeft).is(Kind::kString);
      default:
        return false;
    }
  }

  [[nodiscard]] bool decides(Node condition) const {
    return implied_by(model, condition, true) || implied_by(model, condition, false) ||
           condition.is_any(Kind::kBooleanOperator, Kind::kComparison);
  }

  // Whether a call does nothing with its arguments that places something.
  [[nodiscard]] bool is_harmless(Node arguments) const {
    static constexpr auto kShows = std::to_array<std::string_view>(
        {"print", "str", "repr", "format", "info", "debug", "warning", "warn", "error", "log",
         "write", "echo", "assertTrue", "assertFalse", "assertEqual", "skipif", "skipIf",
         "skipUnless"});
    const Node call = arguments.parent();
    const std::string& name = model.called(call);
    return base::one_of(kShows, syntax::end_of_name(syntax::callee(call))) ||
           name.starts_with("torch.utils.data.") || name.starts_with("torch.amp.") ||
           name.starts_with("torch.cuda.") || name.starts_with("pytest.");
  }

  // Whether what is below a condition has no call of a function of the file that goes to CUDA.
  [[nodiscard]] bool calls_mover(Node below) const {
    const auto names = model.nodes(Kind::kIdentifier, below);
    return std::any_of(names.begin(), names.end(),
                       [&](Node name) { return moving.contains(name.text()); });
  }

  // Whether no branch of a chain calls a function that goes to CUDA, nor takes the CPU for a name
  // that has something else in no other branch: `if not torch.cuda.is_available(): where = "cpu"`.
  [[nodiscard]] bool is_plain_choice(Node branch) const {
    if (calls_mover(branch)) return false;
    const Node chain = branch.is(Kind::kElif) ? branch.parent() : branch;
    std::string text;
    for (const Node string : model.nodes(Kind::kString, branch)) {
      if (!syntax::string_value(string, text) || text != "cpu") continue;
      const Node target = target_of(string);
      if (!target || !knowledge_at(model, string).absent) continue;
      const auto assignments = model.nodes(Kind::kAssignment, chain);
      if (std::none_of(assignments.begin(), assignments.end(), [&](Node other) {
            const Node left = other.child(Field::kLeft);
            return left != target && left.text() == target.text();
          }))
        return false;
    }
    return true;
  }

  // What gets a device of this name.
  [[nodiscard]] Node target_of(Node string) const {
    Node value = string;
    if (value.parent().is(Kind::kArgumentList) &&
        model.called(value.parent().parent()) == "torch.device")
      value = value.parent().parent();
    const Node assignment = value.parent();
    return assignment.is(Kind::kAssignment) ? assignment.child(Field::kLeft) : Node{};
  }

  // Whether all that the file does with the name of an answer is read. A flag is known by its name
  // in other files, too; of others who uses them there is not known.
  [[nodiscard]] bool is_read_of(Node target, int steps) const {
    if (steps > kMostSteps) return false;
    if (target.is(Kind::kSubscript)) return is_flag_of_string(target.child(Field::kSubscriptPart));
    if (!target.is_any(Kind::kIdentifier, Kind::kAttribute)) return false;
    const bool attribute =
        target.is(Kind::kAttribute) || model.scopes().scope_node(target).is(Kind::kClass);
    const std::string_view name = syntax::end_of_name(target);
    bool used = false;
    for (const Node use : model.named(name)) {
      const bool of_object = use.field() == Field::kAttributeName;
      const Node read = of_object ? use.parent() : use;
      if (read == target || of_object != attribute) continue;
      if (read.parent().is_any(Kind::kAssignment, Kind::kGlobal) && read.field() != Field::kRight)
        continue;
      if (read.is(Kind::kIdentifier) &&
          (read.parent().is(Kind::kKeywordArgument) && read.field() == Field::kName))
        continue;
      if (!is_read(read, steps + 1)) return false;
      used = true;
    }
    return is_cuda_flag(name) || (used && !attribute) || is_local(target);
  }

  [[nodiscard]] bool is_local(Node target) const {
    return target.is(Kind::kIdentifier) && model.scopes().scope_node(target).is(Kind::kFunction);
  }

  const SemanticModel& model;
  std::unordered_set<std::string_view> moving;  // functions of the file that name CUDA
  bool any = false;
};

}  // namespace

bool has_unread_test(const SemanticModel& model) {
  return model.facts<UnreadTests>().any;
}

}  // namespace torchport::semantics
