#include "source/rules/build/common/deciding.h"

#include <algorithm>

#include "source/rules/build/common/build_script.h"
#include "source/rules/edits.h"
#include "source/rules/tensors.h"
#include "source/rules/value_history.h"

namespace torchport::rules {

namespace {

constexpr int kMaxSteps = 4;  // names between the test and the extension

class Deciding {
 public:
  explicit Deciding(const SemanticModel& model) : model_(model) {}

  // Whether an extension depends on the value; `steps` names were followed to it.
  bool run(Node value, int steps) {
    const Node condition = condition_around(value);
    const Node parent = condition.parent();
    if (parent.is_any(Kind::kIf, Kind::kElif) && condition.field() == Field::kCondition)
      return branch_decides(parent.is(Kind::kElif) ? parent.parent() : parent, steps);
    if (parent.is(Kind::kConditional)) {
      return chooses_extension(model_, syntax::statement_of(parent)) || run(parent, steps);
    }
    if (parent.is(Kind::kAssert)) return rest_chooses(parent);
    if (parent.is(Kind::kAssignment)) return name_decides(parent.child(Field::kLeft), steps);
    if (parent.is(Kind::kAugmentedAssignment))
      return name_decides(parent.child(Field::kLeft), steps);
    if (parent.is(Kind::kReturn))
      return any_decides(callers_of(model_, syntax::function_of(parent)), steps);
    if (loops_over(condition)) return true;
    return is_built_of(condition) || parameter_decides(condition, steps);
  }

 private:
  // The outermost expression of operators around the node.
  static Node condition_around(Node node) {
    while (node.parent().is_any(Kind::kBooleanOperator, Kind::kParenthesized, Kind::kNotOperator,
                                Kind::kComparison, Kind::kBinaryOperator))
      node = node.parent();
    return node;
  }

  bool any_decides(const std::vector<Node>& uses, int steps) {
    if (steps >= kMaxSteps) return false;
    return std::any_of(uses.begin(), uses.end(), [&](Node use) { return run(use, steps + 1); });
  }

  bool name_decides(Node target, int steps) {
    return target.is(Kind::kIdentifier) && any_decides(reads_of(model_, target), steps);
  }

  // Whether the statements after one that leaves choose an extension.
  [[nodiscard]] bool rest_chooses(Node statement) const {
    for (Node next = statement.next_sibling(); next; next = next.next_sibling()) {
      if (chooses_extension(model_, next)) return true;
    }
    return false;
  }

  bool branch_decides(Node statement, int steps) {
    for (const Node part : statement.children()) {
      if (part.field() != Field::kCondition &&
          (chooses_extension(model_, part) || sets_what_decides(part, steps)))
        return true;
    }
    const auto& exits = model_.early_exits(statement.parent());
    return std::find(exits.begin(), exits.end(), statement) != exits.end() &&
           rest_chooses(statement);
  }

  // Whether a branch sets a flag or extends a list that decides: `WITH_CUDA = True`,
  // `suffixes.append("cuda")`.
  bool sets_what_decides(Node branch, int steps) {
    for (std::uint32_t i = branch.index(); i < branch.subtree_end(); ++i) {
      const Node node = model_.tree().at(i);
      if (node.is_any(Kind::kAssignment, Kind::kAugmentedAssignment) &&
          name_decides(node.child(Field::kLeft), steps))
        return true;
      const std::string_view method = node.is(Kind::kCall) ? method_name(node) : "";
      if ((method == "append" || method == "extend" || method == "insert") &&
          name_decides(object_of(node), steps))
        return true;
    }
    return false;
  }

  // Whether a loop or a comprehension over the value makes extensions: `for suffix in
  // itertools.product(files, suffixes):`.
  [[nodiscard]] bool loops_over(Node value) const {
    while (value.parent().is_any(Kind::kArgumentList, Kind::kCall, Kind::kParenthesized) &&
           value.field() != Field::kFunctionPart)
      value = value.parent();
    if (value.field() != Field::kRight) return false;
    const Node loop = value.parent();
    if (loop.is(Kind::kFor)) return chooses_extension(model_, loop.child(Field::kBody));
    return loop.is(Kind::kForIn) && chooses_extension(model_, loop.parent());
  }

  // Whether an extension is built of the value: CppExtension("ext", sources).
  [[nodiscard]] bool is_built_of(Node value) const {
    Node list = value.parent();
    const bool named = list.is(Kind::kKeywordArgument);
    const std::string_view keyword = named ? list.child(Field::kName).text() : "";
    if (named) list = list.parent();
    const Node call = list.parent();
    if (!list.is(Kind::kArgumentList) || !call.is(Kind::kCall)) return false;
    if (keyword == "ext_modules") return true;
    return method_name(call).ends_with("Extension") &&
           (named ? keyword == "sources" : syntax::positional(call, 1) == value);
  }

  // Whether a function of the file gets the value, and its parameter decides.
  bool parameter_decides(Node value, int steps) {
    Node list = value.parent();
    const bool named = list.is(Kind::kKeywordArgument);
    const std::string_view keyword = named ? list.child(Field::kName).text() : "";
    if (named) list = list.parent();
    const Node call = list.parent();
    if (!list.is(Kind::kArgumentList) || !call.is(Kind::kCall)) return false;
    const Node callee = syntax::callee(call);
    if (!callee.is(Kind::kIdentifier)) return false;
    const Node function = model_.function_named(callee.text(), callee);
    if (!function) return false;
    std::size_t index = 0;
    for (const semantics::Binding* binding : model_.scopes().of_scope(function)) {
      if (binding->kind != semantics::BindingKind::kParameter) continue;
      const bool bound =
          named ? binding->name == keyword : syntax::positional(call, index) == value;
      if (bound) return name_decides(binding->target, steps);
      ++index;
    }
    return false;
  }

  const SemanticModel& model_;
};

}  // namespace

bool decides_extension(const SemanticModel& model, Node value) {
  return Deciding(model).run(value, 0);
}

}  // namespace torchport::rules
