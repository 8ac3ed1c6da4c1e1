// TP505: Variable, which tensors have replaced.
#include "source/rules/rule.h"

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/statements.h"

namespace torchport::rules::volatile_variable {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP505",
    .name = "volatile-variable",
    .family = "mode",
    .severity = Severity::kWarning,
    .summary = "`Variable` is deprecated, and `volatile=True` is ignored",
    .hygiene = true,
};

// Whether a tensor cannot have an autograd history, so that Variable() of it is the tensor itself.
bool is_fresh(const SemanticModel& model, Node data) {
  if (data.is(Kind::kAttribute)) return data.child(Field::kAttributeName).text() == "data";
  if (!data.is(Kind::kCall)) return false;
  const std::string& name = model.called(data);
  const Node grad = syntax::keyword(data, "requires_grad");
  if (semantics::is_factory(name) || name == "torch.from_numpy" || name.ends_with("Tensor"))
    return !grad;
  if (!name.empty()) return false;
  const std::string_view method = method_name(data);
  if (method == "detach") return true;
  for (const std::string_view same :
       {"cuda", "cpu", "to", "float", "long", "unsqueeze", "view", "type", "clone", "new", "zero_",
        "fill_", "normal_", "uniform_", "contiguous"}) {
    if (method == same) return is_fresh(model, syntax::unwrap(object_of(data)));
  }
  return false;
}
// Whether the expression needs parentheses in place of the call.
bool needs_parentheses(Node call) {
  const Node parent = call.parent();
  return !(parent.is_any(Kind::kArgumentList, Kind::kKeywordArgument, Kind::kReturn, Kind::kList,
                         Kind::kTuple, Kind::kParenthesized, Kind::kPair) ||
           (parent.is(Kind::kAssignment) && call.field() == Field::kRight));
}

bool has_comment(Node call) {
  return call.text().find('#') != std::string_view::npos;
}

// Whether the statement is only `x = Variable(x)`, so that its line can go.
bool is_whole_line(Node call, Node data) {
  const Node statement = syntax::statement_of(call);
  const Node assignment = plain_assignment(statement);
  if (!assignment || !stands_alone(statement) || assignment.child(Field::kRight) != call)
    return false;
  if (assignment.child(Field::kLeft).text() != data.text()) return false;
  // A block must keep a statement.
  return statement.parent().first_child() != statement || statement.next_sibling();
}

Fix make_fix(const PythonContext& context, Node call, Node data, Node grad, bool is_volatile) {
  Fix fix;
  const bool wants_grad = grad && !grad.is(Kind::kFalse);
  fix.title = is_volatile ? "drop `Variable`, and run the inference under `torch.no_grad()`"
                          : "drop `Variable`";
  if (syntax::has_splat(call) || has_comment(call) || data.is(Kind::kGenerator)) return fix;
  if (data.is_any(Kind::kYield, Kind::kAwait, Kind::kNamedExpression, Kind::kLambda)) return fix;
  std::string text(data.text());
  const bool broken = text.find('\n') != std::string::npos && !data.is(Kind::kCall);
  if (wants_grad || needs_parentheses(call) || broken) text = primary_text(data);
  if (wants_grad) {
    // Variable(x) does not change x itself. detach() does the same, with the same memory.
    if (!is_fresh(context.model, data)) text += ".detach()";
    text += grad.is(Kind::kTrue) ? ".requires_grad_()"
                                 : fmt::format(".requires_grad_({})", grad.text());
    fix.title = "use `requires_grad_()`";
  }
  fix.applicability = !is_volatile && (wants_grad || is_fresh(context.model, data))
                          ? Applicability::kSafe
                          : Applicability::kUnsafe;
  if (!wants_grad && is_whole_line(call, data)) {
    fix.edits = {erase(whole_lines(syntax::statement_of(call)))};
  } else {
    fix.edits = {replace(call, std::move(text))};
  }
  return fix;
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const std::string& name = context.model.called(call);
  if (name != "torch.autograd.Variable" && name != "torch.autograd.variable.Variable" &&
      !(name == "Variable" || name == "torch.Variable")) {
    return;
  }
  const Node data = syntax::argument(call, 0, "data");
  const Node volatile_value = syntax::argument(call, 2, "volatile");
  const bool is_volatile = volatile_value && !volatile_value.is(Kind::kFalse);
  if (!data) return;
  const std::string message =
      is_volatile
          ? "`volatile` has had no effect since torch 0.4: the gradients of this inference are "
            "recorded and "
            "fill memory."
          : "`Variable` has been deprecated since torch 0.4: it returns a tensor, cut off from the "
            "history of the one it was given.";
  reporter.report(is_volatile ? call : syntax::callee(call), message)
      .fix.push_back(
          make_fix(context, call, data, syntax::argument(call, 1, "requires_grad"), is_volatile));
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::volatile_variable
