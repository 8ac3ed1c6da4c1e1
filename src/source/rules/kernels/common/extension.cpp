#include "source/rules/kernels/common/extension.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/statements.h"
#include "source/rules/tensors.h"
#include "source/semantics/guards.h"

namespace torchport::rules {

namespace {

constexpr int kMaxNames = 4;           // names followed from a call to its sources
constexpr std::size_t kMaxGuards = 6;  // more than that is a rewrite, not a guard

bool is_cu_string(Node string) {
  std::string_view text = string.text();
  while (!text.empty() && (text.back() == '"' || text.back() == '\'')) text.remove_suffix(1);
  return text.ends_with(".cu");
}

bool names_cuda_sources(const SemanticModel& model, Node expression, int depth) {
  for (std::uint32_t i = expression.index(); expression && i < expression.subtree_end(); ++i) {
    const Node node = model.tree().at(i);
    if (node.is(Kind::kString) && is_cu_string(node)) return true;
    if (!node.is(Kind::kIdentifier) || depth >= kMaxNames) continue;
    if ((node.field() == Field::kAttributeName || node.parent().is(Kind::kKeywordArgument)) &&
        node.field() != Field::kValue)
      continue;
    for (const semantics::Binding* binding : model.scopes().reaching(node.text(), node)) {
      const bool data = binding->kind == semantics::BindingKind::kAssign ||
                        binding->kind == semantics::BindingKind::kAugmented ||
                        binding->kind == semantics::BindingKind::kFor;
      if (data && !binding->value.holds(node) &&
          names_cuda_sources(model, binding->value, depth + 1))
        return true;
    }
  }
  return false;
}

// One level of the file's indentation.
std::string indent_unit(const SemanticModel& model) {
  for (const Node block : model.nodes(Kind::kBlock)) {
    if (!block.parent().parent().is(Kind::kModule)) continue;
    // A block that the parser could not read may be empty.
    const std::string_view indent = indentation_of(block.first_child());
    if (!indent.empty() && stands_alone(block.first_child())) return std::string(indent);
  }
  return "    ";
}

struct Parameters {
  std::vector<std::string_view> names;
  bool plain = true;  // no *args, no keyword-only ones, no lone `/`
};

Parameters parameters_of(Node function) {
  Parameters result;
  for (const Node part : function.child(Field::kParametersPart).children()) {
    const bool named = part.is_any(Kind::kDefaultParameter, Kind::kTypedDefaultParameter);
    const Node name = named                            ? part.child(Field::kName)
                      : part.is(Kind::kTypedParameter) ? part.first_child()
                                                       : part;
    if (!name.is(Kind::kIdentifier))
      result.plain = false;
    else
      result.names.push_back(name.text());
  }
  return result;
}

bool is_twin_name(std::string_view twin, std::string_view name) {
  static constexpr std::array<std::string_view, 14> kWords{
      "reference", "ref",   "py",     "python", "cpu",   "fallback", "torch",
      "pytorch",   "naive", "native", "slow",   "plain", "eager",    "impl"};
  while (twin.starts_with('_')) twin.remove_prefix(1);
  while (name.starts_with('_')) name.remove_prefix(1);
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return twin == fmt::format("{}_{}", name, word) || twin == fmt::format("{}_{}", word, name);
  });
}

// The function of the file that computes the same in plain PyTorch.
Node twin_of(const SemanticModel& model, Node function) {
  const Parameters wanted = parameters_of(function);
  const std::string_view name = function.child(Field::kName).text();
  if (!wanted.plain || wanted.names.empty()) return {};
  if (!syntax::statement_of(function).parent().is(Kind::kModule)) return {};
  for (const semantics::Binding* binding : model.scopes().of_scope(model.tree().root())) {
    if (binding->kind != semantics::BindingKind::kFunction || !is_twin_name(binding->name, name))
      continue;
    const Parameters given = parameters_of(binding->value);
    if (given.plain && given.names == wanted.names && model.named(name, binding->value).empty())
      return binding->value;
  }
  return {};
}

bool is_apply_of(Node node, std::string_view class_name) {
  return node.is(Kind::kAttribute) && node.child(Field::kAttributeName).text() == "apply" &&
         node.child(Field::kObject).text() == class_name;
}

// Whether a read compares the name with None or tests its truth: then the file expects that it may
// be missing.
bool is_test_of(Node read) {
  const Node parent = read.parent();
  return parent.is_any(Kind::kComparison, Kind::kNotOperator, Kind::kBooleanOperator) ||
         read.field() == Field::kCondition;
}

class Guards {
 public:
  Guards(const SemanticModel& model, Node target) : model_(model), target_(target) {}

  std::optional<std::vector<Edit>> run() {
    for (const Node read : reads_of(model_, target_)) {
      if (is_test_of(read)) continue;
      if (!use(read)) return std::nullopt;
    }
    if (uses_.empty() || uses_.size() > kMaxGuards) return std::nullopt;
    std::vector<Edit> edits;
    for (const Use& use : uses_) {
      if (!guard(use, edits)) return std::nullopt;
    }
    return edits;
  }

 private:
  // A function that launches the kernel, with the expressions that launch it.
  struct Use {
    Node function;
    std::vector<Node> launches;  // none: the whole function is one
  };

  bool use(Node read) {
    if (semantics::is_cuda_guarded(model_, read)) return true;
    const Node function = syntax::function_of(read);
    if (!function.is(Kind::kFunction)) return false;
    const semantics::ClassFacts* facts = model_.enclosing_class(function);
    if (!is_autograd_function(facts)) {
      add(function, read.parent().parent());
      return true;
    }
    if (std::find(classes_.begin(), classes_.end(), facts) != classes_.end()) return true;
    classes_.push_back(facts);
    return launches(*facts);
  }

  // Collects the places that call CLASS.apply or, if there are none, the class's own forward.
  bool launches(const semantics::ClassFacts& facts) {
    std::vector<Node> sites;
    bool outside = false;
    for (const Node name : model_.named("apply")) {
      const Node node = name.parent();
      if (!is_apply_of(node, facts.name) || facts.node.holds(node)) continue;
      outside |= !syntax::function_of(node).is(Kind::kFunction);
      sites.push_back(node);
    }
    if (sites.empty() || outside) {
      const auto forward = facts.methods.find("forward");
      if (forward == facts.methods.end()) return false;
      add(forward->second, {});
      return true;
    }
    for (const Node site : sites) {
      if (!semantics::is_cuda_guarded(model_, site)) add(syntax::function_of(site), site.parent());
    }
    return true;
  }

  void add(Node function, Node launch) {
    auto known = std::find_if(uses_.begin(), uses_.end(),
                              [&](const Use& use) { return use.function == function; });
    if (known == uses_.end()) known = uses_.insert(uses_.end(), {function, {}});
    if (launch) known->launches.push_back(launch);
  }

  bool guard(const Use& use, std::vector<Edit>& edits) const {
    const Node call = use.launches.empty() ? Node{} : use.launches.front();
    const Parameters parameters = parameters_of(use.function);
    const Node given = unwrapped_argument(call);
    const bool known = std::find(parameters.names.begin(), parameters.names.end(), given.text()) !=
                       parameters.names.end();
    const Node twin = known ? twin_of(model_, use.function) : Node{};
    // If a twin exists, it is called at the top of the function. Otherwise the error is raised
    // where the kernel is needed.
    const bool at_top = twin || use.launches.empty();
    const Node first =
        at_top ? first_statement(use.function) : innermost_statement(use.function, use.launches);
    if (!first || !stands_alone(first)) return false;
    if (first.is(Kind::kIf) &&
        !model_.named(target_.text(), first.child(Field::kCondition)).empty())
      return true;
    const std::string_view newline = newline_of(first);
    const std::string_view indent = indentation_of(first);
    const std::string inner = fmt::format("{}{}{}", newline, indent, indent_unit(model_));
    const std::string lines =
        twin ? fmt::format("if {} is None or not {}.is_cuda:{}return {}({})", target_.text(),
                           given.text(), inner, twin.child(Field::kName).text(),
                           fmt::join(parameters.names, ", "))
             : fmt::format("if {} is None:{}raise RuntimeError({})", target_.text(), inner,
                           quoted(model_, fmt::format("{} needs CUDA, its kernel is not there",
                                                      subject_of(use.function))));
    const std::uint32_t at = start_with_comments(first);
    edits.push_back({{at, at}, fmt::format("{}{}{}", indent, lines, newline)});
    return true;
  }

  // The first statement after the docstring.
  static Node first_statement(Node function) {
    const Node first = function.child(Field::kBody).first_child();
    const bool docstring =
        first.is(Kind::kExpressionStatement) && first.first_child().is(Kind::kString);
    return docstring && first.next_sibling() ? first.next_sibling() : first;
  }

  [[nodiscard]] std::string_view subject_of(Node function) const {
    const semantics::ClassFacts* facts = model_.enclosing_class(function);
    return facts != nullptr ? facts->name : function.child(Field::kName).text();
  }

  // The first argument of the launch, `x` in `F.apply(x.contiguous(), 3)`.
  static Node unwrapped_argument(Node call) {
    Node given = call.is(Kind::kCall) ? syntax::positional(call, 0) : Node{};
    while (given.is(Kind::kCall) && object_of(given)) given = object_of(given);
    return given.is(Kind::kIdentifier) ? given : Node{};
  }

  const SemanticModel& model_;
  Node target_;
  std::vector<Use> uses_;
  std::vector<const semantics::ClassFacts*> classes_;
};

bool holds_long_string(Node statement) {
  for (std::uint32_t i = statement.index(); i < statement.subtree_end(); ++i) {
    const Node node = statement.tree()->at(i);
    if (node.is(Kind::kString) && node.text().find_first_of("\r\n") != std::string_view::npos)
      return true;
  }
  return false;
}

}  // namespace

bool names_cuda_sources(const SemanticModel& model, Node expression) {
  return names_cuda_sources(model, expression, 0);
}

bool compiles_cuda(const SemanticModel& model, Node call) {
  const std::string& name = model.called(call);
  if (name == "torch.utils.cpp_extension.load") {
    const Node with_cuda = syntax::keyword(call, "with_cuda");
    if (with_cuda.is(Kind::kFalse)) return false;
    return with_cuda.is(Kind::kTrue) ||
           names_cuda_sources(model, syntax::argument(call, 1, "sources"));
  }
  if (name != "torch.utils.cpp_extension.load_inline") return false;
  const Node sources = syntax::argument(call, 2, "cuda_sources");
  return sources && !sources.is(Kind::kNone) && sources.text() != "[]";
}

bool is_autograd_function(const semantics::ClassFacts* facts) {
  if (facts == nullptr) return false;
  return std::any_of(facts->bases.begin(), facts->bases.end(), [](const std::string& base) {
    return base == "torch.autograd.Function" || base == "torch.autograd.function.Function" ||
           base == "torch.autograd.function.InplaceFunction" || base == "Function";
  });
}

std::optional<std::vector<Edit>> guard_uses(const SemanticModel& model, Node target) {
  return Guards(model, target).run();
}

std::vector<Edit> run_only_if(const SemanticModel& model, Node statement, Node target,
                              std::string_view condition) {
  if (!stands_alone(statement)) return {};
  const syntax::Tree& tree = *statement.tree();
  if (holds_long_string(statement)) {
    return {insert_after(statement, fmt::format(" if {} else None", condition))};
  }
  const std::string unit = indent_unit(model);
  std::vector<Edit> edits{insert_before(
      statement, fmt::format("{0} = None{1}{2}if {3}:{1}{2}{4}", target.text(),
                             newline_of(statement), indentation_of(statement), condition, unit))};
  const std::uint32_t last = tree.lines().at(statement.end()).line;
  for (std::uint32_t line = tree.lines().at(statement.start()).line + 1; line <= last; ++line) {
    const std::uint32_t start = tree.lines().line_start(line);
    if (!base::trim(tree.lines().line(line)).empty()) edits.push_back({{start, start}, unit});
  }
  return edits;
}

}  // namespace torchport::rules
