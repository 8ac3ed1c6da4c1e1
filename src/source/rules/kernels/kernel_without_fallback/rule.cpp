// TP801: CUDA kernels that a file compiles, imports or launches without an alternative.
#include "source/rules/rule.h"

#include <algorithm>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/kernels/common/extension.h"
#include "source/rules/optional.h"
#include "source/rules/statements.h"
#include "source/rules/tensors.h"
#include "source/rules/value_history.h"
#include "source/semantics/guards.h"

namespace torchport::rules::kernel_without_fallback {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP801",
    .name = "kernel-without-fallback",
    .family = "kernels",
    .severity = Severity::kError,
    .summary = "a CUDA kernel is compiled, imported or launched without an alternative",
    .void_with_cuda = true,
};

bool is_guarded(const SemanticModel& model, Node node) {
  return semantics::is_cuda_guarded(model, node) || is_asked_for(model, node) ||
         is_caught(model, node, {"OSError", "EnvironmentError", "RuntimeError"});
}

bool names_cuda(std::string_view name) {
  const std::string text = base::lower(name);
  return text.find("cuda") != std::string::npos || text.find("gpu") != std::string::npos;
}

// Whether this is a helper that compiles when it is called, so that its callers decide. If the file
// has no callers, its name decides.
bool is_callers_choice(const SemanticModel& model, Node call) {
  const Node function = syntax::function_of(call);
  if (!function.is(Kind::kFunction)) return false;
  const auto callers = callers_of(model, function);
  if (callers.empty()) return names_cuda(function.child(Field::kName).text());
  return std::all_of(callers.begin(), callers.end(), [&](Node caller) {
    return is_guarded(model, caller) || deciding_branch(caller);
  });
}

// Whether the name `torch` is bound before the statement runs.
bool knows_torch(const PythonContext& context, Node at) {
  for (const semantics::Binding* binding :
       context.model.scopes().reaching(context.devices.torch_name(), at)) {
    if (binding->kind == semantics::BindingKind::kImport && binding->target.end() < at.start())
      return true;
  }
  return false;
}

void add_load_fix(const PythonContext& context, Node call, Finding& finding) {
  Fix fix;
  fix.title = "compile it only with CUDA, and give its callers a branch without it";
  const Node statement = syntax::statement_of(call);
  const Node assignment = plain_assignment(statement);
  const Node target = assignment.child(Field::kLeft);
  if (assignment && assignment.child(Field::kRight) == call && target.is(Kind::kIdentifier) &&
      !syntax::function_of(call) && !syntax::class_of(call) && knows_torch(context, statement)) {
    auto guards = guard_uses(context.model, target);
    auto edits = run_only_if(context.model, statement, target,
                             fmt::format("{}.cuda.is_available()", context.devices.torch_name()));
    if (guards && !edits.empty()) {
      fix.applicability = Applicability::kUnsafe;
      fix.edits = std::move(edits);
      fix.edits.insert(fix.edits.end(), guards->begin(), guards->end());
    }
  }
  finding.fix.push_back(std::move(fix));
}

void check_load(const PythonContext& context, Node call, Reporter& reporter) {
  const SemanticModel& model = context.model;
  if (!compiles_cuda(model, call) || is_guarded(model, call) || is_callers_choice(model, call))
    return;
  const bool at_import = !syntax::function_of(call);
  Finding& finding = reporter.report(
      syntax::callee(call),
      at_import
          ? "Without a CUDA toolkit this raises \"CUDA_HOME environment variable is not set\", and "
            "the "
            "file cannot be imported."
          : "Without a CUDA toolkit this raises \"CUDA_HOME environment variable is not set\"; "
            "there is no alternative.");
  if (at_import) finding.unless.push_back({flow::Condition::Kind::kImportedWithCare, {}, {}});
  add_load_fix(context, call, finding);
}

// --- compiled modules ---------------------------------------------------------

// Whether a name is usual for an extension with CUDA code.
bool is_cuda_module_name(std::string_view name) {
  return name.ends_with("_cuda") || name.ends_with("_cuda_ext") || name.ends_with("_cuda_kernel") ||
         name.ends_with("_cuda_kernels") || name.ends_with("_gpu") || name.starts_with("cuda_");
}

// Compiled modules are used as `foo_cuda.forward(...)` inside of autograd functions.
bool drives_autograd_function(const SemanticModel& model, Node target) {
  for (const Node read : reads_of(model, target)) {
    const Node attribute = read.parent();
    if (!attribute.is(Kind::kAttribute) || attribute.field() != Field::kFunctionPart) continue;
    if (is_autograd_function(model.enclosing_class(read))) return true;
  }
  return false;
}

// Whether a use says itself where it runs, or is in code that is made for CUDA by its name.
bool is_placed_use(const SemanticModel& model, Node use) {
  if (is_guarded(model, use) || deciding_branch(use)) return true;
  const Node function = syntax::function_of(use);
  if (!function) return false;
  for (const std::string_view word : {"is_cuda", "is_available", "device_type"})
    if (!model.named(word, function).empty()) return true;
  const Node holder = syntax::class_of(function);
  return names_cuda(function.child(Field::kName).text()) ||
         (holder && names_cuda(holder.child(Field::kName).text())) || is_callers_choice(model, use);
}

// `import foo_cuda`, and nothing but calls `foo_cuda.forward(x)` of it, outside of autograd
// functions too. A module of Python has seldom such a name at the top.
bool is_called_bare(const SemanticModel& model, Node import, Node target) {
  const std::string_view name = target.text();
  const std::string_view text = import.text();
  if (!import.is(Kind::kImport) || text.find_first_of(".,") != std::string_view::npos) return false;
  if (!name.ends_with("_cuda") && !name.ends_with("_cuda_ext") &&
      text.find("_cuda as ") == std::string_view::npos)
    return false;
  const auto reads = reads_of(model, target);
  const auto is_call = [](Node read) {
    return read.parent().is(Kind::kAttribute) && read.parent().field() == Field::kFunctionPart;
  };
  return !reads.empty() && std::all_of(reads.begin(), reads.end(), is_call) &&
         std::none_of(reads.begin(), reads.end(),
                      [&](Node read) { return is_placed_use(model, read.parent().parent()); });
}

Node unit_of_import(Node import, std::size_t& names) {
  names = 0;
  Node bound;
  for (Node part = import.first_child(); part; part = part.next_sibling()) {
    if (part.field() != Field::kName) continue;
    ++names;
    bound = part.is(Kind::kAliasedImport) ? part.child(Field::kAlias) : part;
  }
  if (bound.is(Kind::kDottedName)) bound = bound.first_child();
  return bound;
}

std::vector<Edit> caught_import(Node import, Node target) {
  if (!stands_alone(import) || import.text().find('\n') != std::string_view::npos) return {};
  const std::string_view indent = indentation_of(import);
  const std::string line = fmt::format("{}{}", newline_of(import), indent);
  return {insert_before(import, fmt::format("try:{}    ", line)),
          insert_after(
              import, fmt::format("{0}except ImportError:{0}    {1} = None", line, target.text()))};
}

void check_module(const PythonContext& context, Node import, Reporter& reporter) {
  const SemanticModel& model = context.model;
  if (syntax::function_of(import) || deciding_branch(import) || is_optional_import(model, import))
    return;
  for (const semantics::Binding* binding : model.scopes().of_scope(model.tree().root())) {
    if (binding->kind != semantics::BindingKind::kImport || binding->value != import) continue;
    const std::string_view last =
        std::string_view(binding->qualified).substr(binding->qualified.rfind('.') + 1);
    if (!is_cuda_module_name(last) || (!drives_autograd_function(model, binding->target) &&
                                       !is_called_bare(model, import, binding->target)))
      continue;
    Finding& finding = reporter.report(
        binding->target,
        fmt::format("If `{}` was not compiled, this raises ImportError, and the file cannot be "
                    "imported on machines without CUDA.",
                    last));
    finding.unless.push_back({flow::Condition::Kind::kImportedWithCare, {}, {}});
    Fix fix;
    fix.title = "catch the ImportError, and give the callers a branch without it";
    std::size_t names = 0;
    const Node target = unit_of_import(import, names);
    auto guards = names == 1 ? guard_uses(model, target) : std::nullopt;
    auto edits = caught_import(import, target);
    if (guards && !edits.empty()) {
      fix.applicability = Applicability::kUnsafe;
      fix.edits = std::move(edits);
      fix.edits.insert(fix.edits.end(), guards->begin(), guards->end());
    }
    finding.fix.push_back(std::move(fix));
  }
}

// --- kernels written in Python -------------------------------------------------

// The decorator of a function of the file, as a dotted name.
std::string decorator_of(const SemanticModel& model, Node function) {
  const Node decorated = function.parent();
  if (!decorated.is(Kind::kDecorated)) return {};
  for (Node part = decorated.first_child(); part.is(Kind::kDecorator); part = part.next_sibling()) {
    const Node name = part.first_child();
    const std::string& dotted = model.qualified(name.is(Kind::kCall) ? syntax::callee(name) : name);
    if (dotted == "numba.cuda.jit" || dotted == "triton.jit") return dotted;
  }
  return {};
}

// The decorator of what `name[grid](...)` launches: "numba.cuda.jit", "triton.jit",
// "cupy.RawKernel", or nothing.
std::string launched(const SemanticModel& model, Node name) {
  if (!name.is(Kind::kIdentifier)) return {};
  for (const semantics::Binding* binding : model.scopes().reaching(name.text(), name)) {
    if (binding->kind == semantics::BindingKind::kFunction)
      return decorator_of(model, binding->value);
  }
  return {};
}

bool knows_where(const SemanticModel& model, Node function) {
  return !model.named("is_cuda", function).empty() ||
         !model.named("is_available", function).empty();
}

// A registered operator whose name says that it has a kernel for CUDA only:
// torch.ops.my_cuda_ops.bias(x).
void check_operator(const PythonContext& context, Node call, Reporter& reporter) {
  const SemanticModel& model = context.model;
  const std::string& name = model.called(call);
  if (!name.starts_with("torch.ops.") || name.starts_with("torch.ops.aten.") || !names_cuda(name) ||
      std::count(name.begin(), name.end(), '.') < 3 || is_placed_use(model, call))
    return;
  for (const std::string_view word : {"cuda", "gpu"})
    if (path_speaks_of(context.path, word)) return;
  Finding& finding = reporter.report(
      syntax::callee(call),
      fmt::format("`{}` has a kernel for CUDA only, as its name says: with tensors elsewhere this "
                  "raises NotImplementedError, and there is no alternative.",
                  name));
  Fix fix;
  fix.title = "branch on `x.is_cuda`, and compute the same with torch operations otherwise";
  finding.fix.push_back(std::move(fix));
}

Node outermost_function(Node node) {
  Node function;
  for (Node up = syntax::function_of(node); up; up = syntax::function_of(up)) function = up;
  return function;
}

void check_launch(const PythonContext& context, Node call, Reporter& reporter) {
  const SemanticModel& model = context.model;
  const Node indexed = syntax::callee(call);
  if (!indexed.is(Kind::kSubscript)) return;
  const std::string kernel = launched(model, indexed.child(Field::kValue));
  if (kernel.empty() || is_guarded(model, call)) return;
  const Node function = outermost_function(call);
  if (function && (knows_where(model, function) || is_callers_choice(model, call) ||
                   names_cuda(function.child(Field::kName).text())))
    return;
  // A file that exists for the kernel was chosen by its importers.
  const bool triton = kernel == "triton.jit";
  for (const std::string_view word : {"triton", "cuda", "gpu"}) {
    if (path_speaks_of(context.path, word)) return;
  }
  if (triton && function && path_speaks_of(function.child(Field::kName).text(), "triton")) return;
  // Reported once per function, because its launches work or fail together.
  const Node range = function ? function : model.tree().root();
  for (std::uint32_t i = range.index(); i < call.index(); ++i) {
    const Node earlier = model.tree().at(i);
    if (earlier.is(Kind::kCall) &&
        !launched(model, syntax::callee(earlier).child(Field::kValue)).empty() &&
        outermost_function(earlier) == function)
      return;
  }
  Finding& finding =
      reporter.report(indexed, triton ? "Triton has no CPU target: with CPU tensors this launch "
                                        "raises, and there is no alternative."
                                      : "On a machine without CUDA this launch raises "
                                        "CudaSupportError, and there is no alternative.");
  Fix fix;
  fix.title = "branch on `x.is_cuda`, and compute the same with torch operations otherwise";
  finding.fix.push_back(std::move(fix));
}

void check(const PythonContext& context, Node node, Reporter& reporter) {
  if (context.is_test()) return;
  if (node.is(Kind::kCall)) {
    check_load(context, node, reporter);
    check_launch(context, node, reporter);
    check_operator(context, node, reporter);
  } else {
    check_module(context, node, reporter);
  }
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kCall, Kind::kImport, Kind::kImportFrom},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::kernel_without_fallback
