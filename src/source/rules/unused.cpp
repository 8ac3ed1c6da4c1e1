#include "source/rules/unused.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/file_system.h"
#include "source/rules/edits.h"
#include "source/rules/statements.h"

namespace torchport::rules {

namespace {

using semantics::Binding;
using semantics::BindingKind;

// How often code reads each name, and the words of its strings: `__all__`, annotations.
struct Reads {
  explicit Reads(const SemanticModel& model) {
    for (const Node node : model.nodes(Kind::kIdentifier)) {
      if (node.field() == Field::kAttributeName || is_imported(node)) continue;
      if (node.parent().is(Kind::kKeywordArgument) && node.field() == Field::kName) continue;
      if (node.parent().is(Kind::kAssignment) && node.field() == Field::kLeft) continue;
      names.insert(node.text());
    }
    for (const Node string : model.nodes(Kind::kString)) add_words(string.text());
    for (const Node comment : model.tree().comments())
      if (comment.text().find("type:") != std::string_view::npos) add_words(comment.text());
  }

  [[nodiscard]] bool has(std::string_view name) const { return names.contains(name); }

  std::unordered_set<std::string_view> names;

 private:
  static bool is_imported(Node node) {
    for (Node up = node.parent(); up; up = up.parent()) {
      if (up.is_any(Kind::kImport, Kind::kImportFrom)) return true;
      if (!up.is_any(Kind::kDottedName, Kind::kAliasedImport, Kind::kRelativeImport)) return false;
    }
    return false;
  }

  void add_words(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = at;
      while (end < text.size() && base::is_identifier_char(text[end])) ++end;
      if (end > at) names.insert(text.substr(at, end - at));
      at = end + 1;
    }
  }
};

bool is_kept_by_comment(Node statement) {
  const auto& lines = statement.tree()->lines();
  for (std::uint32_t line = lines.at(statement.start()).line;
       line <= lines.at(statement.end()).line; ++line)
    if (lines.line(line).find("noqa") != std::string_view::npos) return true;
  return false;
}

// Whether a block has other statements than this one.
bool has_siblings(Node statement) {
  const Node block = statement.parent();
  return block.is(Kind::kModule) || block.children().size() > 1;
}

bool is_conditional(Node statement) {
  for (Node up = statement.parent(); up && !up.is(Kind::kFunction); up = up.parent())
    if (up.is_any(Kind::kTry, Kind::kIf)) return true;
  return false;
}

bool imported(const SemanticModel& model, const Binding& binding) {
  const auto& bindings = model.scopes().module_level(binding.name);
  return std::any_of(bindings.begin(), bindings.end(),
                     [&](const Binding* other) { return other->kind == BindingKind::kImport; });
}

// Whether evaluating an expression does nothing but give its value.
bool is_quiet(const SemanticModel& model, Node value) {
  static constexpr std::array<std::string_view, 4> kQuestions{
      "torch.cuda.is_available", "torch.cuda.device_count", "torch.cuda.current_device",
      "torch.device"};
  for (std::uint32_t i = value.index(); i < value.subtree_end(); ++i) {
    const Node node = model.tree().at(i);
    if (node.is_any(Kind::kAwait, Kind::kYield, Kind::kNamedExpression, Kind::kSubscript))
      return false;
    if (node.is(Kind::kCall) && !base::one_of(kQuestions, model.called(node))) return false;
  }
  return static_cast<bool>(value);
}

class Remover {
 public:
  Remover(std::string_view path, const SemanticModel& before, const SemanticModel& after,
          const flow::Summary* project)
      : path_(path),
        before_(before),
        after_(after),
        project_(project),
        was_read_(before),
        is_read_(after) {}

  std::vector<Edit> edits() {
    for (const Kind kind : {Kind::kImport, Kind::kImportFrom})
      for (const Node statement : after_.nodes(kind)) remove_import(statement);
    for (const Node assignment : after_.nodes(Kind::kAssignment)) remove_variable(assignment);
    edit::sort_edits(edits_);
    return std::move(edits_);
  }

 private:
  [[nodiscard]] bool is_left_behind(std::string_view name) const {
    return was_read_.has(name) && !is_read_.has(name);
  }

  void remove_import(Node statement) {
    const Node scope = after_.scopes().scope_node(statement);
    std::vector<Node> names;
    std::vector<Node> unused;
    for (Node name = statement.first_child(); name; name = name.next_sibling())
      if (statement.is(Kind::kImport) || name.field() == Field::kName) names.push_back(name);
    for (const Binding* binding : after_.scopes().of_scope(scope)) {
      if (binding->value != statement || !is_left_behind(binding->name)) continue;
      if (scope.is(Kind::kModule) &&
          (!imported(before_, *binding) ||
           (project_ != nullptr && project_->is_used_elsewhere(path_, binding->name))))
        continue;
      for (const Node name : names)
        if (name.holds(binding->target)) unused.push_back(name);
    }
    if (unused.empty() || is_conditional(statement) || is_kept_by_comment(statement)) return;
    if (unused.size() == names.size()) return remove_line(statement);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (std::find(unused.begin(), unused.end(), names[i]) == unused.end()) continue;
      const bool last = i + 1 == names.size();
      // Several at the end of the list: the next pass has the rest.
      if (last)
        edits_.push_back(erase({names[i - 1].end(), names[i].end()}));
      else
        edits_.push_back(erase({names[i].start(), names[i + 1].start()}));
      return;
    }
  }

  void remove_variable(Node assignment) {
    const Node name = assignment.child(Field::kLeft);
    const Node function = syntax::function_of(assignment);
    const Node statement = syntax::statement_of(assignment);
    if (!name.is(Kind::kIdentifier) || !function.is(Kind::kFunction) ||
        plain_assignment(statement) != assignment || !is_left_behind(name.text()))
      return;
    const auto bindings = after_.scopes().all(name.text(), name);
    const auto old = before_.named(name.text());
    const bool single = bindings.size() == 1 && bindings.front()->target == name;
    if (!single || old.empty() || after_.scopes().owner(name.text(), name) != function ||
        !is_quiet(after_, assignment.child(Field::kRight)) || is_kept_by_comment(statement))
      return;
    remove_line(statement);
  }

  void remove_line(Node statement) {
    if (!stands_alone(statement) || !has_siblings(statement)) return;
    base::Span lines = whole_lines(statement);
    // A file does not start with blank lines.
    const std::string& text = after_.tree().source();
    while (lines.start == 0 && lines.end < text.size() &&
           (text[lines.end] == '\n' || text[lines.end] == '\r'))
      ++lines.end;
    edits_.push_back(erase(lines));
  }

  std::string_view path_;
  const SemanticModel& before_;
  const SemanticModel& after_;
  const flow::Summary* project_;
  Reads was_read_;
  Reads is_read_;
  std::vector<Edit> edits_;
};

}  // namespace

std::string without_unused(std::string_view path, const SemanticModel& before,
                           const SemanticModel& after, const flow::Summary* project) {
  const std::string& text = after.tree().source();
  if (base::file_name(path) == "__init__.py") return text;
  return edit::apply_edits(text, Remover(path, before, after, project).edits());
}

}  // namespace torchport::rules
