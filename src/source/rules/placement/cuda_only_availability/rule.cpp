// TP106: a choice between CUDA and the CPU that leaves out all other devices.
#include "source/rules/rule.h"

#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "devices/device_kind.h"
#include "source/edit/device_source.h"
#include "source/rules/edits.h"
#include "source/rules/placement/common/device_text.h"
#include "source/rules/statements.h"
#include "source/rules/tensors.h"
#include "source/semantics/guards.h"
#include "source/semantics/literals.h"
#include "source/semantics/other_kinds.h"

namespace torchport::rules::cuda_only_availability {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP106",
    .name = "cuda-only-availability",
    .family = "placement",
    .severity = Severity::kWarning,
    .summary = "the device is chosen between CUDA and the CPU; others are never used",
};

constexpr std::string_view kMessage =
    "This knows only CUDA and the CPU: the GPU of a Mac or of another vendor is never used.";

// The kind that the programs ask for.
constexpr std::string_view kCuda = "cuda";

// A test for CUDA. It is plain if it tests nothing else.
struct Test {
  bool found = false;
  bool plain = false;
  bool negated = false;
};

Test test_of(const SemanticModel& model, Node condition, int depth = 0) {
  condition = syntax::unwrap(condition);
  if (!condition || depth > 4) return {};
  if (condition.is(Kind::kCall)) {
    const bool found = model.called(condition) == "torch.cuda.is_available";
    return {found, found, false};
  }
  if (condition.is(Kind::kNotOperator)) {
    Test inner = test_of(model, condition.child(Field::kArgument), depth + 1);
    inner.negated = !inner.negated;
    return inner;
  }
  if (condition.is(Kind::kBooleanOperator)) {
    const Test left = test_of(model, condition.child(Field::kLeft), depth + 1);
    const Test right = test_of(model, condition.child(Field::kRight), depth + 1);
    const bool is_and = condition.child(Field::kOperator).text() == "and";
    if (!is_and || left.negated || right.negated) return {};
    return {left.found || right.found, false, false};
  }
  if (condition.is(Kind::kIdentifier)) {
    const auto bindings = model.scopes().reaching(condition.text(), condition);
    if (bindings.size() != 1 || bindings.front()->kind != semantics::BindingKind::kAssign ||
        bindings.front()->unpacked) {
      return {};
    }
    return test_of(model, bindings.front()->value, depth + 1);
  }
  return {};
}

// The string in a device expression: "cuda", torch.device("cuda:0"), "cuda:%d" % i.
Node device_string(const SemanticModel& model, Node device) {
  device = syntax::unwrap(device);
  if (device.is(Kind::kString)) return device;
  if (device.is(Kind::kBinaryOperator)) return device_string(model, device.child(Field::kLeft));
  if (!device.is(Kind::kCall)) return {};
  if (model.called(device) == "torch.device") {
    return device_string(model, syntax::argument(device, 0, "device"));
  }
  return method_name(device) == "format" ? device_string(model, object_of(device)) : Node{};
}

bool is_cuda_device(const SemanticModel& model, Node device) {
  const Node string = device_string(model, device);
  return string && semantics::classify_literal(model, string).role != semantics::LiteralRole::kNone;
}

bool is_cpu_device(const SemanticModel& model, Node device) {
  std::string text;
  return syntax::string_value(device_string(model, device), text) && text == "cpu";
}

constexpr const char* kTooOld =
    "the oldest torch that this project supports knows no other accelerator: require torch 1.12 or "
    "newer, and ask for the others too";

// The kinds other than CUDA that can be asked for one after the other.
std::vector<const devices::DeviceKind*> other_kinds(const PythonContext& context) {
  auto kinds = edit::classic_chain(context.settings.min_torch);
  std::erase_if(kinds, [](const devices::DeviceKind* kind) { return kind->name == kCuda; });
  return kinds;
}

bool is_of_interest(const PythonContext& context, Node node) {
  if (context.is_test()) return false;
  // Its name says that it returns CUDA devices.
  if (function_says(node, "cuda_device")) return false;
  return !is_cuda_territory(context, node) && !semantics::other_kinds_are_near(node);
}

// Whether the project supports a torch older than all other kinds: then the fix is only described.
bool has_no_alternative(const PythonContext& context) {
  return other_kinds(context).empty() && !context.settings.uses_accelerator();
}

// Whether the file moves something below a test for CUDA: `if torch.cuda.is_available(): x.cuda()`.
// On another accelerator that stays on the CPU, so a device that is chosen there must not follow
// alone.
struct GuardedMoves {
  explicit GuardedMoves(const SemanticModel& model) {
    for (const Node call : model.calls_of("cuda")) {
      if (!object_of(call) || !model.called(call).empty()) continue;
      any |= semantics::knowledge_at(model, call).present;
    }
  }
  bool any = false;
};

constexpr const char* kLeftBehind =
    "ask for the other accelerators too, once what `.cuda()` moves below a test for CUDA is moved "
    "by "
    "`.to(device)`: on another accelerator it would stay on the CPU";

constexpr const char* kOnlyThere =
    "ask for the other accelerators too, once the rest of the program can follow: it computes in "
    "float64, which mps does not have, or places tensors by tests that only know CUDA";

// Whether the file is well on CUDA and the CPU only. One that it shares tensors with may be, too.
bool must_be_cuda(const PythonContext& context) {
  return semantics::cuda_or_cpu(context.model).keeps;
}

const flow::Condition kOthersMust{flow::Condition::Kind::kKeptToCuda, {}, {}};

// Whether a choice is as fixes write it where no other kind may be chosen, and in a place where
// they write it: their variable, or an argument.
bool is_choice_of_fix(const PythonContext& context, Node conditional) {
  const std::string_view plain = conditional.text();
  const std::string torch = context.devices.torch_name() + ".cuda.is_available() else ";
  if (plain != fmt::format("\"cuda\" if {}\"cpu\"", torch) &&
      plain != fmt::format("'cuda' if {}'cpu'", torch))
    return false;
  const Node holder = holder_of(conditional);
  const Node device = holder.parent();
  if (!device.is(Kind::kCall) || context.model.called(device) != "torch.device")
    return !holder.is(Kind::kAssignment) ||
           holder.child(Field::kLeft).text() == context.devices.variable() + "_NAME";
  const Node assignment = device.parent();
  return !assignment.is(Kind::kAssignment) ||
         assignment.child(Field::kLeft).text() == context.devices.variable();
}

// Whether a choice has the name that fixes give their variable.
bool has_name_of_fix(const PythonContext& context, Node conditional) {
  Node up = conditional;
  while (up && !up.is_any(Kind::kAssignment, Kind::kBlock, Kind::kModule)) up = up.parent();
  return up.is(Kind::kAssignment) &&
         up.child(Field::kLeft).text().starts_with(context.devices.variable());
}

// Lowers the fix where the program would mix devices after it.
void keep_together(const PythonContext& context, Fix& fix, Finding& finding) {
  if (fix.applicability == Applicability::kDisplay) return;
  const bool moves = context.model.facts<GuardedMoves>().any;
  if (!moves && !must_be_cuda(context)) {
    finding.lowered.push_back({kOthersMust, Applicability::kDisplay, kOnlyThere});
    return;
  }
  fix.applicability = Applicability::kDisplay;
  fix.title = moves ? kLeftBehind : kOnlyThere;
}

// Lowers the fix in a function that is named for CUDA (`use_cuda_if_available`): it has to be
// renamed first.
void keep_names_honest(Node node, Fix& fix) {
  if (function_says(node, "cuda")) fix.applicability = Applicability::kDisplay;
}

Fix fix_conditional(const PythonContext& context, Node conditional, const Test& test, Node cuda,
                    Node cpu) {
  const SemanticModel& model = context.model;
  const std::string& torch = context.devices.torch_name();
  Fix fix;
  fix.title = "ask for the other accelerators too";
  if (!test.plain || option_choices(conditional)) return fix;
  if (has_no_alternative(context)) {
    fix.title = kTooOld;
    return fix;
  }
  fix.applicability = Applicability::kUnsafe;
  fix.needs.imports = {"import torch"};
  const bool indexed = semantics::classify_literal(model, device_string(model, cuda)).indexed;
  const Node list = conditional.parent();
  const bool in_device =
      list.is(Kind::kArgumentList) && model.called(list.parent()) == "torch.device";
  const bool as_string = !in_device && syntax::unwrap(cuda).is(Kind::kString);
  const Node place = in_device ? list.parent() : conditional;
  if (context.devices.shares_variable() && !indexed) {
    const std::string text = context.devices.variable() + (as_string ? ".type" : "");
    fix.title = fmt::format("use the package's device: `{}`", text);
    fix.needs = {.imports = {}, .module_device = true};
    fix.edits = {replace(place, text)};
    return fix;
  }
  if (context.settings.uses_accelerator() && !indexed) {
    const std::string text = fitted(place, context.devices.any_accelerator(as_string));
    fix.title = fmt::format("use any accelerator: `{}`", text);
    fix.edits = {replace(place, text)};
    return fix;
  }
  const Node string = device_string(model, cpu);
  const char quote = string.text().back();
  std::string choice;
  std::vector<std::string_view> names;
  for (const devices::DeviceKind* kind : other_kinds(context)) {
    names.push_back(kind->name);
    choice += fmt::format("{0}{1}{0} if {2}.{3} else ", quote, kind->name, torch,
                          kind->availability.expression);
  }
  const std::string text = fitted(string, choice + std::string(string.text()));
  fix.title = fmt::format("ask for {} before the CPU: `{}`", fmt::join(names, " and "), text);
  fix.edits = {replace(string, text)};
  return fix;
}

// Whether all that reads the chosen device is a load that puts its file there: what the weights are
// copied into decides where the program computes.
bool is_only_for_loading(const SemanticModel& model, Node target) {
  if (!target.is(Kind::kIdentifier) || !syntax::function_of(target)) return false;
  const auto reads = reads_of(model, target);
  return !reads.empty() && std::all_of(reads.begin(), reads.end(), [](Node read) {
    const Node keyword = read.parent();
    return keyword.is(Kind::kKeywordArgument) &&
           keyword.child(Field::kName).text() == "map_location";
  });
}

void check_conditional(const PythonContext& context, Node conditional, Reporter& reporter) {
  const auto parts = conditional.children();
  if (parts.size() != 3) return;
  const Test test = test_of(context.model, parts[1]);
  if (!test.found) return;
  const Node cuda = test.negated ? parts[2] : parts[0];
  const Node cpu = test.negated ? parts[0] : parts[2];
  if (!is_cuda_device(context.model, cuda) || !is_cpu_device(context.model, cpu)) return;
  if (!is_of_interest(context, conditional)) return;
  const bool of_fix = is_choice_of_fix(context, conditional);
  if (of_fix && must_be_cuda(context)) return;
  const Node assignment = conditional.parent();
  if (assignment.is(Kind::kAssignment) &&
      is_only_for_loading(context.model, assignment.child(Field::kLeft)))
    return;
  Fix fix = fix_conditional(context, conditional, test, cuda, cpu);
  keep_names_honest(conditional, fix);
  Finding& finding = reporter.report(conditional, std::string(kMessage));
  if (of_fix && has_name_of_fix(context, conditional)) finding.unless.push_back(kOthersMust);
  keep_together(context, fix, finding);
  finding.fix.push_back(std::move(fix));
}

// The only statement of a block, if it has a line of its own.
Node only_statement(Node block) {
  const Node first = block.first_child();
  return first && !first.next_sibling() && stands_alone(first) ? first : Node{};
}

// The device that a statement assigns or returns.
Node chosen_by(Node statement) {
  if (statement.is(Kind::kReturn)) return statement.first_child();
  const Node assignment = plain_assignment(statement);
  return assignment.child(Field::kRight);
}

std::string_view target_of(Node statement) {
  if (statement.is(Kind::kReturn)) return "return";
  return plain_assignment(statement).child(Field::kLeft).text();
}

struct Branch {
  std::string condition;
  std::string device;
};

// The branches that ask for other devices: one for all if torch.accelerator can be used.
std::vector<Branch> other_branches(const PythonContext& context, bool as_string) {
  const std::string& torch = context.devices.torch_name();
  if (context.settings.uses_accelerator()) {
    return {
        {torch + ".accelerator.is_available()",
         fmt::format("{}.accelerator.current_accelerator(){}", torch, as_string ? ".type" : "")}};
  }
  std::vector<Branch> branches;
  for (const devices::DeviceKind* kind : other_kinds(context)) {
    const std::string name = fmt::format("\"{}\"", kind->name);
    branches.push_back({fmt::format("{}.{}", torch, kind->availability.expression),
                        as_string ? name : fmt::format("{}.device({})", torch, name)});
  }
  return branches;
}

void check_if(const PythonContext& context, Node statement, Reporter& reporter) {
  const SemanticModel& model = context.model;
  const Test test = test_of(model, statement.child(Field::kCondition));
  if (!test.found || test.negated) return;
  const Node yes = only_statement(statement.child(Field::kConsequence));
  const Node clause = statement.child(Field::kAlternative);
  const Node no = clause ? only_statement(clause.child(Field::kBody)) : statement.next_sibling();
  if (!yes || !no || (clause && !clause.is(Kind::kElse))) return;
  if (!clause && !yes.is(Kind::kReturn)) return;
  if (target_of(yes).empty() || target_of(yes) != target_of(no)) return;
  const Node cuda = chosen_by(yes);
  if (!is_cuda_device(model, cuda) || !is_cpu_device(model, chosen_by(no))) return;
  if (!is_of_interest(context, statement)) return;
  if (is_only_for_loading(model, plain_assignment(yes).child(Field::kLeft))) return;
  Finding& finding = reporter.report(statement.child(Field::kCondition), std::string(kMessage));
  Fix fix;
  fix.title = "add a branch for the other accelerators";
  if (test.plain && has_no_alternative(context)) {
    fix.title = kTooOld;
  } else if (test.plain) {
    const bool as_string = syntax::unwrap(cuda).is(Kind::kString);
    const std::string indent(indentation_of(statement));
    const std::string newline(newline_of(statement));
    const std::string head(yes.text().substr(0, cuda.start() - yes.start()));
    const std::string word = clause ? "elif " : "if ";
    std::string branches;
    for (const Branch& branch : other_branches(context, as_string)) {
      branches += fmt::format("{}{}:{}{}{}{}{}{}", word, branch.condition, newline,
                              indentation_of(yes), head, branch.device, newline, indent);
    }
    fix.applicability = Applicability::kUnsafe;
    fix.needs.imports = {"import torch"};
    fix.edits = {insert_before(clause ? clause : no, branches)};
  }
  keep_names_honest(statement, fix);
  keep_together(context, fix, finding);
  finding.fix.push_back(std::move(fix));
}

void check(const PythonContext& context, Node node, Reporter& reporter) {
  if (node.is(Kind::kConditional)) check_conditional(context, node, reporter);
  if (node.is(Kind::kIf)) check_if(context, node, reporter);
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kConditional, Kind::kIf},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::cuda_only_availability
