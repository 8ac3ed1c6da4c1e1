// TP702: a CUDAExtension that is created without a test for a CUDA toolkit.
#include "source/rules/rule.h"

#include <algorithm>

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

bool is_conditional(const SemanticModel& model, Node node, int depth) {
  if (deciding_branch(node) || after_exit(model, node) ||
      is_caught(model, node, {"OSError", "EnvironmentError"}))
    return true;
  const Node function = syntax::function_of(node);
  if (!function) return false;
  const auto callers = callers_of(model, function);
  return depth >= kMaxCallers || callers.empty() ||
         std::all_of(callers.begin(), callers.end(),
                     [&](Node caller) { return is_conditional(model, caller, depth + 1); });
}

bool is_cuda_extension(const SemanticModel& model, Node call) {
  return model.called(call) == "torch.utils.cpp_extension.CUDAExtension";
}

// Whether a name was bound to CUDAExtension in a branch (`extension = CUDAExtension`) and is called
// after it.
bool is_chosen(const SemanticModel& model, Node callee) {
  if (!callee.is(Kind::kIdentifier)) return false;
  const auto bindings = model.scopes().reaching(callee.text(), callee);
  return std::any_of(bindings.begin(), bindings.end(), [](const semantics::Binding* binding) {
    return binding->kind == semantics::BindingKind::kAssign && deciding_branch(binding->target);
  });
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
  if (!is_cuda_extension(model, call) || context.is_test() ||
      is_chosen(model, syntax::callee(call)))
    return;
  if (!is_first(model, call) || is_conditional(model, call, 0)) return;
  Finding& finding =
      reporter.report(syntax::callee(call),
                      "Without a CUDA toolkit this raises \"CUDA_HOME environment variable is not "
                      "set\": nothing of the package can be installed.");
  if (installs_only_kernels(model, call))
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
