// TP702: a CUDAExtension that is created without a test for a CUDA toolkit.
#include "source/rules/rule.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "source/rules/build/common/unset_environment.h"
#include "source/rules/build/unconditional_cuda_extension/messages.h"
#include "source/rules/edits.h"
#include "source/rules/optional.h"
#include "source/rules/value_history.h"

namespace torchport::rules::unconditional_cuda_extension {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP702",
    .name = "unconditional-cuda-extension",
    .family = "build",
    .severity = Severity::kError,
    .summary = "a CUDAExtension is created without a test for a CUDA toolkit",
};

constexpr int kMaxCallers = 3;  // functions followed from the extension to setup()

// Whether an earlier `if CUDA_HOME is None: raise ...` or `assert` of the same blocks guards the
// node.
bool after_exit(const SemanticModel& model, Node node) {
  for (Node at = node; at.parent(); at = at.parent()) {
    if (!at.parent().is_any(Kind::kBlock, Kind::kModule)) continue;
    for (const Node exit : model.early_exits(at.parent())) {
      if (exit.start() >= at.start()) break;
      const Node condition =
          exit.is(Kind::kAssert) ? exit.first_child() : exit.child(Field::kCondition);
      const std::string text = base::lower(condition.text());
      if (text.find("cuda") != std::string::npos || text.find("nvcc") != std::string::npos ||
          text.find("gpu") != std::string::npos)
        return true;
    }
  }
  return false;
}

constexpr int kMaxNames = 3;  // names followed from a condition to what it asks

// Whether the condition asks only what torch was built for, as `torch.version.cuda` does. pip's
// torch is built for CUDA on machines without a toolkit, too.
bool asks_torch_alone(const SemanticModel& model, Node node, int depth) {
  node = syntax::unwrap(node);
  if (!node || depth > kMaxNames) return false;
  if (node.is_any(Kind::kNotOperator, Kind::kComparison))
    return asks_torch_alone(model, node.first_child(), depth);
  if (node.is(Kind::kBooleanOperator))
    return asks_torch_alone(model, node.child(Field::kLeft), depth) &&
           asks_torch_alone(model, node.child(Field::kRight), depth);
  if (node.is(Kind::kCall))
    return model.called(node) == "torch.backends.cuda.is_built" ||
           (syntax::callee(node).text() == "bool" &&
            asks_torch_alone(model, syntax::positional(node, 0), depth));
  if (model.qualified(node) == "torch.version.cuda") return true;
  if (!node.is(Kind::kIdentifier)) return false;
  const auto bindings = model.scopes().all(node.text(), node);
  return bindings.size() == 1 && bindings.front()->kind == semantics::BindingKind::kAssign &&
         asks_torch_alone(model, bindings.front()->value, depth + 1);
}

Node condition_of(Node branch) {
  return branch.is(Kind::kConditional) ? branch.children()[1] : branch.child(Field::kCondition);
}

// Whether the node is in the part of the branch that runs if its condition holds.
bool in_first_part(Node branch, Node node) {
  if (branch.is(Kind::kConditional)) return node.index() < branch.children()[1].index();
  Node part = node;
  while (part.parent() != branch) part = part.parent();
  return part.is(Kind::kBlock);
}

enum class Test { kNone, kTorchAlone, kToolkit };

// The strongest test that the branches around the node make. A branch that is taken unless somebody
// sets a variable is none.
Test test_around(const SemanticModel& model, Node node) {
  Test strongest = Test::kNone;
  for (Node branch = deciding_branch(node); branch; branch = deciding_branch(branch)) {
    const Node condition = condition_of(branch);
    const auto unset = unset_truth(model, condition);
    if (unset && *unset == in_first_part(branch, node)) continue;
    if (!asks_torch_alone(model, condition, 0)) return Test::kToolkit;
    strongest = Test::kTorchAlone;
  }
  return strongest;
}

Test test_before(const SemanticModel& model, Node node, int depth) {
  const Test around = test_around(model, node);
  if (around == Test::kToolkit || after_exit(model, node) ||
      is_caught(model, node, {"OSError", "EnvironmentError"}))
    return Test::kToolkit;
  const Node function = syntax::function_of(node);
  if (!function) return around;
  const auto callers = callers_of(model, function);
  if (depth >= kMaxCallers || callers.empty()) return Test::kToolkit;
  Test weakest = Test::kToolkit;
  for (const Node caller : callers)
    weakest = std::min(weakest, test_before(model, caller, depth + 1));
  return std::max(weakest, around);
}

bool is_cuda_extension(const SemanticModel& model, Node call) {
  return model.called(call) == "torch.utils.cpp_extension.CUDAExtension";
}

bool names_cuda_extension(const SemanticModel& model, Node node) {
  return model.qualified(syntax::unwrap(node)) == "torch.utils.cpp_extension.CUDAExtension";
}

// The test for which a name was bound to CUDAExtension (`kind = CUDAExtension if ... else ...`, or
// in a branch), if the callee is such a name.
std::optional<Test> test_of_choice(const SemanticModel& model, Node callee) {
  if (!callee.is(Kind::kIdentifier)) return std::nullopt;
  std::optional<Test> weakest;
  for (const semantics::Binding* binding : model.scopes().reaching(callee.text(), callee)) {
    if (binding->kind != semantics::BindingKind::kAssign || !binding->value) continue;
    const Node value = syntax::unwrap(binding->value);
    Node chosen = value;
    if (value.is(Kind::kConditional))
      chosen = names_cuda_extension(model, value.children()[0]) ? value.children()[0]
                                                                : value.children()[2];
    if (!names_cuda_extension(model, chosen) || !deciding_branch(chosen)) continue;
    const Test test = test_around(model, chosen);
    weakest = weakest ? std::min(*weakest, test) : test;
  }
  return weakest;
}

// Whether this is the first such call of its statement; only that one is reported.
bool is_first(const SemanticModel& model, Node call) {
  const Node statement = syntax::statement_of(call);
  for (std::uint32_t i = statement.index(); i < call.index(); ++i) {
    const Node earlier = model.tree().at(i);
    if (earlier.is(Kind::kCall) && is_cuda_extension(model, earlier)) return false;
  }
  return true;
}

// Whether setup() around the call installs nothing but CUDA's extensions. It has a name of its own,
// so no pyproject.toml lists packages, and setuptools looks for none when it is given extensions.
bool installs_only_kernels(const SemanticModel& model, Node call) {
  for (Node up = call.parent(); up; up = up.parent()) {
    const std::string& name = model.called(up);
    if (name != "setuptools.setup" && name != "distutils.core.setup") continue;
    return syntax::keyword(up, "name") && !syntax::has_splat(up) &&
           !syntax::keyword(up, "packages") && !syntax::keyword(up, "py_modules") &&
           model.calls_of("CppExtension", up).empty() && model.calls_of("Extension", up).empty();
  }
  return false;
}

void check(const PythonContext& context, Node call, Reporter& reporter) {
  const SemanticModel& model = context.model;
  const auto chosen = test_of_choice(model, syntax::callee(call));
  if ((!is_cuda_extension(model, call) && !chosen) || context.is_test()) return;
  if (!is_first(model, call)) return;
  const Test test = std::max(test_before(model, call, 0), chosen.value_or(Test::kNone));
  if (test == Test::kToolkit) return;
  Finding& finding = reporter.report(
      syntax::callee(call),
      test == Test::kTorchAlone
          ? fmt::format("{} and there is no toolkit, as after `pip install torch` on Linux, this "
                        "raises \"CUDA_HOME environment variable is not set\": nothing of the "
                        "package can be installed.",
                        kForTorchWithCuda)
          : "Without a CUDA toolkit this raises \"CUDA_HOME environment variable is not set\": "
            "nothing of the package can be installed.");
  if (!chosen && installs_only_kernels(model, call))
    finding.unless.push_back({flow::Condition::Kind::kAloneInFolder, {}, {}});
  Fix fix;
  fix.title =
      "create it if `torch.version.cuda` and CUDA_HOME are set or FORCE_CUDA=1 demands it; "
      "otherwise create a CppExtension of the C++ sources that compile without it";
  finding.fix.push_back(std::move(fix));
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kCall}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::unconditional_cuda_extension
