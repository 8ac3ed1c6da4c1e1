#include "source/rules/unused.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/file_system.h"
#include "source/rules/edits.h"
#include "source/rules/statements.h"
#include "source/rules/tensors.h"

namespace torchport::rules {

namespace {

using semantics::Binding;
using semantics::BindingKind;

// A name that stands in more places than this is not looked at: it is hardly unused, and the cost
// of a look grows with the places.
constexpr std::size_t kMostPlaces = 200;

bool stands_seldom(const SemanticModel& model, std::string_view name) {
  std::size_t places = 0;
  for ([[maybe_unused]] const Node node : model.named(name))
    if (++places > kMostPlaces) return false;
  return true;
}

// Whether a string is for people: it is neither a name nor an annotation.
bool is_prose(std::string_view text) {
  return text.find(' ') != std::string_view::npos && text.find('[') == std::string_view::npos;
}

// The words of strings and of comments about types: `__all__`, annotations, code.
std::unordered_set<std::string_view> words_of_strings(const SemanticModel& model) {
  std::unordered_set<std::string_view> words;
  const auto add = [&](std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = at;
      while (end < text.size() && base::is_identifier_char(text[end])) ++end;
      if (end > at) words.insert(text.substr(at, end - at));
      at = end + 1;
    }
  };
  const bool runs_text = !model.named("eval").empty() || !model.named("exec").empty();
  for (const Node string : model.nodes(Kind::kString))
    if (runs_text || !is_prose(string.text())) add(string.text());
  for (const Node comment : model.tree().comments())
    if (comment.text().find("type:") != std::string_view::npos) add(comment.text());
  return words;
}

// Whether code reads what is bound under a name in the scope with this flow::name_of(), "" for the
// module: everywhere, if there are several such scopes or bindings.
bool reads_name(const SemanticModel& model, std::string_view name, std::string_view scope) {
  bool any = false;
  for (const Node node : model.named(name)) {
    const auto all = model.scopes().all(name, node);
    for (const Binding* binding : all) {
      if (!binding->target.holds(node) || flow::name_of(model.scopes().scope_node(node)) != scope)
        continue;
      if (reads_of(model, binding->target).empty()) return false;
      any = true;
    }
  }
  return any;
}

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

// Whether an import may fail, or is one of several for a name of the module.
bool is_conditional(Node statement) {
  bool branch = false;
  for (Node up = statement.parent(); up; up = up.parent()) {
    if (up.is(Kind::kFunction)) return false;
    if (up.is(Kind::kTry)) return true;
    branch |= up.is(Kind::kIf);
  }
  return branch;
}

// The `if` that has nothing but this statement; otherwise the statement.
Node with_its_if(Node statement) {
  const Node branch = statement.parent().parent();
  const bool only = branch.is(Kind::kIf) && statement.parent().children().size() == 1 &&
                    branch.child(Field::kConsequence) == statement.parent() &&
                    !branch.child(Field::kAlternative) &&
                    branch.child(Field::kCondition).is_any(Kind::kIdentifier, Kind::kAttribute);
  return only ? branch : statement;
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
        words_(words_of_strings(after)) {}

  std::vector<Edit> edits() {
    for (const Kind kind : {Kind::kImport, Kind::kImportFrom})
      for (const Node statement : after_.nodes(kind)) remove_import(statement);
    for (const Node assignment : after_.nodes(Kind::kAssignment)) remove_variable(assignment);
    edit::sort_edits(edits_);
    return std::move(edits_);
  }

 private:
  [[nodiscard]] bool is_left_behind(std::string_view name, Node target) const {
    return !words_.contains(name) && stands_seldom(after_, name) && stands_seldom(before_, name) &&
           reads_of(after_, target).empty() &&
           reads_name(before_, name, flow::name_of(after_.scopes().scope_node(target)));
  }

  void remove_import(Node statement) {
    const Node scope = after_.scopes().scope_node(statement);
    std::vector<Node> names;
    std::vector<Node> unused;
    for (Node name = statement.first_child(); name; name = name.next_sibling())
      if (statement.is(Kind::kImport) || name.field() == Field::kName) names.push_back(name);
    for (const Binding* binding : after_.scopes().of_scope(scope)) {
      if (binding->value != statement || !is_left_behind(binding->name, binding->target)) continue;
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
        plain_assignment(statement) != assignment || !is_left_behind(name.text(), name))
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
    statement = with_its_if(statement);
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
  std::unordered_set<std::string_view> words_;
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
