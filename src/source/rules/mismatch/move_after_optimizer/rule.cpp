// TP206: a module that is moved after its optimizer was created.
#include "source/rules/rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/statements.h"
#include "source/rules/tensors.h"

namespace torchport::rules::move_after_optimizer {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP206",
    .name = "move-after-optimizer",
    .family = "mismatch",
    .severity = Severity::kWarning,
    .summary = "the model is moved after its optimizer was made",
    .on_accelerators = true,
};

bool is_optimizer_call(const SemanticModel& model, Node call) {
  if (model.value(call).is(Type::kOptimizer)) return true;
  const std::string name = base::lower(method_name(call));
  return name.find("optim") != std::string::npos && name.find("sched") == std::string::npos;
}

// The model whose parameters the call takes: `M.parameters()` inside it, or `build_optimizer(M,
// ...)`.
Node trained_model(const SemanticModel& model, Node call) {
  const Node list = call.child(Field::kArguments);
  for (std::uint32_t i = list.index(); i < list.subtree_end(); ++i) {
    const Node inner = model.tree().at(i);
    if (!inner.is(Kind::kCall)) continue;
    const std::string_view method = method_name(inner);
    if (method == "parameters" || method == "named_parameters") return object_of(inner);
  }
  if (model.value(call).is(Type::kOptimizer)) return {};
  const std::string_view factory = method_name(call);
  if (!factory.starts_with("build_opt") && !factory.starts_with("get_opt") &&
      !factory.starts_with("make_opt") && !factory.starts_with("create_opt")) {
    return {};
  }
  for (const syntax::Argument& argument : syntax::arguments(call)) {
    const std::string_view text = argument.value.text();
    if (argument.value.is(Kind::kIdentifier) &&
        (text.find("model") != std::string_view::npos || text.ends_with("net")))
      return argument.value;
  }
  return {};
}

// The call in a statement that moves the model: `M.cuda()`, `M = M.to(device)`, `M =
// nn.DataParallel(M).cuda()`; invalid if there is none.
Node move_in(const SemanticModel& model, Node statement, std::string_view name) {
  if (!statement.is(Kind::kExpressionStatement)) return {};
  Node expression = statement.first_child();
  if (expression.is(Kind::kAssignment)) {
    if (expression.child(Field::kLeft).text() != name) return {};
    expression = syntax::unwrap(expression.child(Field::kRight));
  }
  for (Node call = expression; call.is(Kind::kCall);) {
    const Node object = object_of(call);
    const std::string_view method = method_name(call);
    if (object && (method == "cuda" || method == "to") && is_move(model, call)) {
      Node base = syntax::unwrap(object);
      if (is_parallel_wrapper(model.called(base))) base = syntax::positional(base, 0);
      return base.text() == name ? call : Node{};
    }
    if (!object || method == "cpu") return {};
    call = syntax::unwrap(object);
  }
  return {};
}

bool mentions(const SemanticModel& model, Node statement, std::string_view name) {
  for (std::uint32_t i = statement.index(); i < statement.subtree_end(); ++i) {
    const Node node = model.tree().at(i);
    if (node.is_any(Kind::kIdentifier, Kind::kAttribute) && node.text() == name) return true;
  }
  return false;
}

// The first statement after `made` that moves the model, in the same block or in branches after it.
Node find_move(const SemanticModel& model, Node made, std::string_view name) {
  Node in_branch;
  for (Node statement = made.next_sibling(); statement; statement = statement.next_sibling()) {
    if (const Node move = move_in(model, statement, name)) return in_branch ? in_branch : move;
    // Another model from here on: the optimizer is not of it.
    const Node assignment =
        statement.is(Kind::kExpressionStatement) ? statement.first_child() : Node{};
    if (assignment.is(Kind::kAssignment) && assignment.child(Field::kLeft).text() == name &&
        !mentions(model, assignment.child(Field::kRight), name))
      break;
    if (!statement.is_any(Kind::kIf, Kind::kWith, Kind::kTry) || in_branch) continue;
    for (std::uint32_t i = statement.index(); i < statement.subtree_end(); ++i) {
      const Node inner = model.tree().at(i);
      const Node move = move_in(model, inner, name);
      if (move && syntax::function_of(inner) == syntax::function_of(statement)) in_branch = move;
    }
  }
  return in_branch;
}

// Whether the training is over before a statement: a loop has used the optimizer, and nothing does
// from there on.
bool is_done(const SemanticModel& model, Node optimizer, Node moved) {
  if (!optimizer.is(Kind::kIdentifier) || runs_in_loop(moved)) return false;
  const auto reads = reads_of(model, optimizer);
  return std::any_of(reads.begin(), reads.end(), runs_in_loop) &&
         std::none_of(reads.begin(), reads.end(), [&](Node read) {
           return read.start() > moved.start() ||
                  syntax::function_of(read) != syntax::function_of(moved);
         });
}

bool alone_on_lines(Node statement) {
  const auto span = whole_lines(statement);
  const std::string_view text =
      std::string_view(statement.tree()->source()).substr(span.start, span.size());
  return base::trim(text) == statement.text() && text.ends_with('\n');
}

// Whether the two statements can be swapped: no name that is bound between them is read by the
// optimizer's statement.
bool can_swap(const SemanticModel& model, Node made, Node moved, std::string_view name) {
  if (made.parent() != moved.parent() || !alone_on_lines(made) || !alone_on_lines(moved))
    return false;
  const Node target = made.first_child().child(Field::kLeft);
  if (!target.is_any(Kind::kIdentifier, Kind::kAttribute)) return false;
  for (Node between = made.next_sibling(); between && between != moved;
       between = between.next_sibling()) {
    if (!between.is(Kind::kExpressionStatement) || mentions(model, between, target.text()))
      return false;
    const Node assigned = between.first_child().is(Kind::kAssignment)
                              ? between.first_child().child(Field::kLeft)
                              : Node{};
    if (assigned && (assigned.text() == name || mentions(model, made, assigned.text())))
      return false;
  }
  return !mentions(model, moved, target.text());
}

void check(const PythonContext& context, Node assignment, Reporter& reporter) {
  const SemanticModel& model = context.model;
  const Node call = syntax::unwrap(assignment.child(Field::kRight));
  if (context.is_test()) return;  // a fresh optimizer, and a device that the test knows
  if (!call.is(Kind::kCall) || !is_optimizer_call(model, call)) return;
  const Node made = syntax::statement_of(assignment);
  const Node trained = trained_model(model, call);
  if (!trained.is_any(Kind::kIdentifier, Kind::kAttribute) || made.first_child() != assignment)
    return;
  const Node move = find_move(model, made, trained.text());
  if (!move) return;
  const Node moved = syntax::statement_of(move);
  if (is_done(model, assignment.child(Field::kLeft), moved)) return;
  Finding& finding =
      reporter.report(base::Span{object_of(move).end() + 1, move.end()},
                      fmt::format("The optimizer of `{}` was made before this move. State it "
                                  "already holds (a resumed checkpoint, Adagrad) stays behind and "
                                  "`step()` raises; on XLA it continues with the old parameters.",
                                  trained.text()));
  if (!can_swap(model, made, moved, trained.text())) return;
  const bool in_place = syntax::unwrap(object_of(move)).text() == trained.text();
  Fix fix;
  fix.applicability = in_place ? Applicability::kSafe : Applicability::kUnsafe;
  fix.title = "make the optimizer after the move";
  const base::Span from = whole_lines(made);
  const base::Span to = whole_lines(moved);
  fix.edits = {
      erase(from),
      {{to.end, to.end},
       std::string(std::string_view(model.tree().source()).substr(from.start, from.size()))}};
  finding.fix.push_back(std::move(fix));
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kAssignment},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::move_after_optimizer
