#include "source/rules/statements.h"

#include <algorithm>

#include "source/edit/imports.h"
#include "source/rules/edits.h"
#include "source/rules/rule.h"

namespace torchport::rules {

std::string_view newline_of(Node node) {
  return edit::newline_of(node.tree()->source());
}

bool stands_alone(Node statement) {
  if (!statement.parent().is_any(Kind::kBlock, Kind::kModule)) return false;
  const std::string& source = statement.tree()->source();
  std::size_t first = statement.start();
  while (first > 0 && (source[first - 1] == ' ' || source[first - 1] == '\t')) --first;
  if (first > 0 && source[first - 1] != '\n' && source[first - 1] != '\r') return false;
  std::size_t last = statement.end();
  while (last < source.size() && (source[last] == ' ' || source[last] == '\t')) ++last;
  return last >= source.size() || source[last] == '\n' || source[last] == '\r' ||
         source[last] == '#';
}

Edit line_before(Node statement, std::string_view line) {
  std::string text(line);
  text += newline_of(statement);
  text += indentation_of(statement);
  return {{statement.start(), statement.start()}, std::move(text)};
}

Edit line_after(Node statement, std::string_view line) {
  const std::string& source = statement.tree()->source();
  std::uint32_t end = statement.end();
  while (end < source.size() && source[end] != '\n' && source[end] != '\r') ++end;
  std::string text(newline_of(statement));
  text += indentation_of(statement);
  text += line;
  return {{end, end}, std::move(text)};
}

Node plain_assignment(Node statement) {
  if (!statement.is(Kind::kExpressionStatement)) return {};
  const Node assignment = statement.first_child();
  if (!assignment.is(Kind::kAssignment) || assignment.child(Field::kFieldType)) return {};
  const Node left = assignment.child(Field::kLeft);
  if (!left.is_any(Kind::kIdentifier, Kind::kAttribute)) return {};
  if (!assignment.child(Field::kRight) || assignment.child(Field::kRight).is(Kind::kAssignment))
    return {};
  return assignment;
}

bool is_primary(Node expression) {
  return expression.is_any(Kind::kIdentifier, Kind::kAttribute, Kind::kCall, Kind::kSubscript,
                           Kind::kParenthesized, Kind::kList, Kind::kListComprehension);
}

Node innermost_statement(Node function, const std::vector<Node>& nodes) {
  if (nodes.empty()) return {};
  const Node body = function.child(Field::kBody);
  const auto holds_all = [&](Node block) {
    return std::all_of(nodes.begin(), nodes.end(), [&](Node node) { return block.holds(node); });
  };
  Node statement = syntax::statement_of(nodes.front());
  while (!holds_all(statement.parent()) || !stands_alone(statement)) {
    if (statement.parent() == body) return {};
    const Node up = syntax::statement_of(statement.parent());
    if (!up || up == statement || up == function) return {};
    statement = up;
  }
  return statement;
}

std::uint32_t start_with_comments(Node statement) {
  const auto& lines = statement.tree()->lines();
  std::uint32_t line = lines.at(statement.start()).line;
  const std::string_view indent = indentation_of(statement);
  const auto is_comment = [&](std::string_view text) {
    return text.starts_with(indent) && text.substr(indent.size()).starts_with('#');
  };
  while (line > 1 && is_comment(lines.line(line - 1))) --line;
  return lines.line_start(line);
}

std::string primary_text(Node expression) {
  std::string text(expression.text());
  const bool broken = text.find('\n') != std::string::npos &&
                      !expression.is(Kind::kParenthesized) &&
                      syntax::callee(expression).text().find('\n') != std::string_view::npos;
  if (is_primary(expression) && !broken) return text;
  return "(" + text + ")";
}

std::vector<Node> tried_bodies(Node node) {
  std::vector<Node> bodies;
  for (Node up = node; up.parent() && !up.is(Kind::kFunction); up = up.parent())
    if (up.parent().is(Kind::kTry) && up.field() == Field::kBody) bodies.push_back(up);
  return bodies;
}

std::string_view last_name(Node expression) {
  if (expression.is(Kind::kAttribute)) return expression.child(Field::kAttributeName).text();
  return expression.is(Kind::kIdentifier) ? expression.text() : std::string_view{};
}

namespace {

bool speaks_of(Node condition, std::initializer_list<std::string_view> words) {
  const syntax::Tree& tree = *condition.tree();
  for (std::uint32_t i = condition.index(); i < condition.subtree_end(); ++i) {
    const Node name = tree.at(i);
    if (!name.is_any(Kind::kIdentifier, Kind::kStringContent)) continue;
    const std::string text = base::lower(name.text());
    for (const std::string_view part : base::split(text, '_')) {
      if (std::find(words.begin(), words.end(), part) != words.end()) return true;
    }
    if (std::find(words.begin(), words.end(), text) != words.end()) return true;
  }
  return false;
}

}  // namespace

bool runs_under(Node node, std::initializer_list<std::string_view> words) {
  for (Node from = node; from; from = from.parent()) {
    const Node parent = from.parent();
    if (parent.is_any(Kind::kFunction, Kind::kLambda, Kind::kClass)) return false;
    if (parent.is_any(Kind::kIf, Kind::kElif) && from.field() == Field::kConsequence) {
      const Node condition = parent.child(Field::kCondition);
      if (!condition.is(Kind::kNotOperator) && speaks_of(condition, words)) return true;
    }
    // This is the other branch of a choice between strategies of parallelism.
    if (parent.is(Kind::kIf) && from.is(Kind::kElse) &&
        speaks_of(parent.child(Field::kCondition), {"parallel", "dataparallel", "dp"})) {
      return true;
    }
    if (parent.is(Kind::kConditional)) {
      const auto parts = parent.children();
      if (parts.size() == 3 && from == parts[0] && speaks_of(parts[1], words)) return true;
    }
  }
  return false;
}

bool runs_in_loop(Node node) {
  for (Node up = node; up && !up.is(Kind::kFunction); up = up.parent())
    if (up.is_any(Kind::kFor, Kind::kWhile, Kind::kListComprehension, Kind::kSetComprehension,
                  Kind::kDictionaryComprehension, Kind::kGenerator))
      return true;
  return false;
}

}  // namespace torchport::rules
