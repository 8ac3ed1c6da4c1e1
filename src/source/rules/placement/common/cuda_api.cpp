#include "source/rules/placement/common/cuda_api.h"

#include <algorithm>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/placement/common/device_text.h"
#include "source/rules/statements.h"
#include "source/semantics/guards.h"

namespace torchport::rules {

namespace {

// Whether the node is in the body of a `try` of its function that catches errors.
bool is_tried(Node node) {
  for (const Node body : tried_bodies(node))
    for (const Node part : body.parent().children())
      if (part.is(Kind::kExcept) && part.text().find("ImportError") == std::string_view::npos)
        return true;
  return false;
}

// One level of the file's indentation around the statement.
std::string indent_unit(Node statement) {
  const std::string_view inner = indentation_of(statement);
  if (inner.find('\t') != std::string_view::npos) return "\t";
  const Node block = statement.parent();
  if (!block.is(Kind::kBlock)) return "    ";
  const std::string_view outer = indentation_of(block.parent());
  return inner.size() > outer.size() ? std::string(inner.size() - outer.size(), ' ') : "    ";
}

// Whether a loop goes over GPUs: `unused_gpus + used_gpus`, `range(num_cuda_devices())`,
// `args.gpu_ids`.
bool names_gpus(Node iterable) {
  const std::string text = base::lower(iterable.text());
  return text.find("gpus") != std::string::npos || text.find("gpu_ids") != std::string::npos ||
         text.find("cuda_devices") != std::string::npos;
}

bool counts_devices(const SemanticModel& model, Node iterable) {
  for (std::uint32_t i = iterable.index(); i < iterable.subtree_end(); ++i) {
    const Node call = model.tree().at(i);
    if (call.is(Kind::kCall) && model.called(call) == "torch.cuda.device_count") return true;
  }
  return false;
}

}  // namespace

bool in_device_loop(const SemanticModel& model, Node node) {
  for (Node up = node.parent(); up && !up.is(Kind::kFunction); up = up.parent()) {
    if (up.is(Kind::kFor) &&
        (counts_devices(model, up.child(Field::kRight)) || names_gpus(up.child(Field::kRight))))
      return true;
    if (!up.is_any(Kind::kListComprehension, Kind::kGenerator, Kind::kDictionaryComprehension)) {
      continue;
    }
    for (const Node part : up.children()) {
      if (part.is(Kind::kForIn) && counts_devices(model, part.child(Field::kRight))) return true;
    }
  }
  return false;
}

bool is_prepared(const PythonContext& context, Node call) {
  return semantics::is_cuda_guarded(context.model, call) || is_tried(call) ||
         is_cuda_territory(context, call);
}

bool is_tested(Node call) {
  for (Node node = call; node.parent(); node = node.parent()) {
    const Node parent = node.parent();
    if (parent.is_any(Kind::kComparison, Kind::kNotOperator, Kind::kBooleanOperator, Kind::kAssert,
                      Kind::kIfClause)) {
      return true;
    }
    if (parent.is_any(Kind::kIf, Kind::kElif, Kind::kWhile) && node.field() == Field::kCondition) {
      return true;
    }
    if (!parent.is(Kind::kParenthesized)) return false;
  }
  return false;
}

Node statement_of_call(Node call) {
  Node top = call;
  while (top.parent().is(Kind::kAttribute) && top.parent().parent().is(Kind::kCall) &&
         top.parent().field() == Field::kFunctionPart) {
    top = top.parent().parent();
  }
  const Node statement = top.parent();
  if (!statement.is(Kind::kExpressionStatement) || !stands_alone(statement)) return {};
  return statement.first_child().next_sibling() ? Node{} : statement;
}

std::vector<Node> run_of_statements(Node first, const std::function<bool(Node)>& belongs) {
  std::vector<Node> run{first};
  const auto& lines = first.tree()->lines();
  for (Node next = first.next_sibling(); next && stands_alone(next) && belongs(next);
       next = next.next_sibling()) {
    if (lines.at(next.start()).line != lines.at(run.back().end()).line + 1) break;
    run.push_back(next);
  }
  return run;
}

std::vector<Edit> guard_statements(const std::vector<Node>& statements,
                                   std::string_view condition) {
  std::vector<Edit> edits;
  const Node first = statements.front();
  const std::string indent(indentation_of(first));
  const std::string unit = indent_unit(first);
  const auto newline = std::string(newline_of(first));
  for (const Node statement : statements) {
    std::string head = unit;
    if (statement == first) head = fmt::format("if {}:{}{}{}", condition, newline, indent, unit);
    edits.push_back(insert_before(statement, std::move(head)));
    // Continued lines are indented, too, unless a string spans them.
    const std::string_view text = statement.text();
    if (text.find("\"\"\"") != std::string_view::npos || text.find("'''") != std::string_view::npos)
      continue;
    for (auto at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
      const auto offset = statement.start() + static_cast<std::uint32_t>(at) + 1;
      edits.push_back({{offset, offset}, unit});
    }
  }
  return edits;
}

}  // namespace torchport::rules
