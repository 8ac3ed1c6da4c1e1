// TP802: imports of packages that only work with CUDA.
#include "source/rules/rule.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/optional.h"
#include "source/rules/statements.h"
#include "source/rules/tensors.h"
#include "source/rules/value_history.h"
#include "source/semantics/guards.h"

namespace torchport::rules::cuda_only_package {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP802",
    .name = "cuda-only-package",
    .family = "kernels",
    .severity = Severity::kError,
    .summary = "a package that only works with CUDA is imported without an alternative",
    .void_with_cuda = true,
};

constexpr std::size_t kMaxGuards = 3;  // functions that get a clear error; more is a rewrite

struct Package {
  std::string_view root;     // dotted
  std::string_view word;     // files and functions with it in their name are made for the package
  std::string_view instead;  // what does the same elsewhere
  bool also_inside = false;  // reported in functions, too, because the computation itself is tied
};

constexpr std::array<Package, 21> kPackages{{
    {"cupy", "cupy", "NumPy, or torch itself", true},
    {"cupyx", "cupy", "SciPy, or torch itself", true},
    {"pycuda", "pycuda", "torch operations", true},
    {"pynvml", "nvml", "no reading at all (None) on other machines", true},
    {"py3nvml", "nvml", "no reading at all (None) on other machines", true},
    {"nvidia_smi", "nvml", "no reading at all (None) on other machines", true},
    {"apex", "apex", "torch.amp, torch.nn.SyncBatchNorm and DistributedDataParallel of torch"},
    {"amp_C", "apex", "torch.nn.utils"},
    {"flash_attn", "flash", "torch.nn.functional.scaled_dot_product_attention"},
    {"xformers", "xformers", "torch.nn.functional.scaled_dot_product_attention"},
    {"triton", "triton", "torch operations"},
    {"tensorrt", "trt", "onnxruntime, or the torch model itself"},
    {"torch2trt", "trt", "the torch model itself"},
    {"torch_tensorrt", "trt", "torch.compile, or the torch model itself"},
    {"nvidia.dali", "dali", "torchvision.transforms"},
    {"transformer_engine", "transformer_engine", "torch.nn"},
    {"mamba_ssm", "mamba", "a scan in plain torch"},
    {"causal_conv1d", "mamba", "torch.nn.Conv1d"},
    {"tinycudann", "tcnn", "torch.nn"},
    {"nvdiffrast", "nvdiffrast", "another rasterizer"},
    {"spconv", "spconv", "dense convolutions"},
}};

const Package* package_of(std::string_view module) {
  // Only the operators of xformers need CUDA; its components are plain torch.
  if (module.starts_with("xformers.") && !module.starts_with("xformers.ops")) return nullptr;
  for (const Package& package : kPackages) {
    if (module.starts_with(package.root) &&
        (module.size() == package.root.size() || module[package.root.size()] == '.'))
      return &package;
  }
  return nullptr;
}

// Whether the file is a part of the package itself: /xformers/ops/x.py.
bool is_own(std::string_view path, const Package& package) {
  const std::string folder = fmt::format("{}/", package.root.substr(0, package.root.find('.')));
  return path.starts_with(folder) || path.find("/" + folder) != std::string_view::npos;
}

// Whether the file exists for the package or for CUDA by its name. Its importers chose it then.
bool is_dedicated(std::string_view path, const Package& package) {
  const std::string root = base::lower(package.root.substr(0, package.root.find('.')));
  const bool is_tensorrt = package.word == "trt" && path_speaks_of(path, "tensorrt");
  return is_own(path, package) || path_speaks_of(path, package.word) || is_tensorrt ||
         path_speaks_of(path, root) || path_speaks_of(path, "cuda") ||
         path_speaks_of(path, "gpu") || path.find("/kernels/") != std::string_view::npos ||
         path.starts_with("kernels/");
}

// A call of nvmlInit() that nothing guards. The packages for NVML are plain Python: they can be
// imported without a driver, and fail there.
Node bare_init(const SemanticModel& model) {
  for (const Node call : model.nodes(Kind::kCall)) {
    if (!method_name(call).starts_with("nvmlInit")) continue;
    if (!semantics::is_cuda_guarded(model, call) &&
        !is_caught(model, call, {"NVMLError", "pynvml.NVMLError", "RuntimeError", "OSError"}, true))
      return call;
  }
  return {};
}

bool is_after_exit(const SemanticModel& model, Node node) {
  for (Node at = node; at.parent(); at = at.parent()) {
    if (!at.parent().is_any(Kind::kBlock, Kind::kModule)) continue;
    for (const Node exit : model.early_exits(at.parent())) {
      if (exit.start() < at.start()) return true;
    }
  }
  return false;
}

// An import in a function is optional for the program. Only code that computes with the package is
// tied to it.
bool is_choice(const SemanticModel& model, Node import, const Package& package) {
  const Node function = syntax::function_of(import);
  if (!function) return false;
  if (!package.also_inside || is_after_exit(model, import)) return true;
  if (import.text().find("cupy.cuda") != std::string_view::npos)
    return true;  // the program asks for CUDA itself
  const std::string_view name = function.child(Field::kName).text();
  const std::string root(package.root);
  if (path_speaks_of(name, package.word) || path_speaks_of(name, root) ||
      path_speaks_of(name, "cuda"))
    return true;
  const auto callers = callers_of(model, function);
  return !callers.empty() && std::all_of(callers.begin(), callers.end(), [&](Node caller) {
    return semantics::is_cuda_guarded(model, caller) || is_optional_import(model, caller);
  });
}

// --- the fix: None in its place, and a clear error where it is used --------------------

std::vector<Node> bound_names(Node import) {
  std::vector<Node> names;
  for (Node part = import.first_child(); part; part = part.next_sibling()) {
    if (part.field() != Field::kName) continue;
    Node name = part.is(Kind::kAliasedImport) ? part.child(Field::kAlias) : part;
    if (name.is(Kind::kDottedName)) name = name.first_child();
    names.push_back(name);
  }
  return names;
}

// The function whose body the read runs in; invalid for decorators, defaults and annotations.
Node running_function(Node read) {
  const Node function = syntax::function_of(read);
  return function.is(Kind::kFunction) && function.child(Field::kBody).holds(read) ? function
                                                                                  : Node{};
}

// A function that reads a name of the imports, with the first such name.
struct Use {
  Node function;
  Node name;
  std::vector<Node> reads;
};

bool add_guard(const SemanticModel& model, const Use& use, std::string_view package,
               std::vector<Edit>& edits) {
  const Node first = innermost_statement(use.function, use.reads);
  if (!first) return false;
  const std::string_view newline = newline_of(use.function);
  const std::string_view indent = indentation_of(first);
  const semantics::ClassFacts* facts = model.enclosing_class(use.function);
  const std::string_view subject =
      facts != nullptr ? facts->name : use.function.child(Field::kName).text();
  const std::uint32_t at = start_with_comments(first);
  edits.push_back(
      {{at, at},
       fmt::format("{1}if {2} is None:{0}{1}    raise ImportError({3}){0}", newline, indent,
                   use.name.text(),
                   quoted(model, fmt::format("{} needs {}, which needs CUDA", subject, package)))});
  return true;
}

// Adds a clear error to each function that uses a name of the imports.
bool guard_functions(const SemanticModel& model, const std::vector<Node>& imports,
                     std::string_view package, std::vector<Edit>& edits) {
  std::vector<Use> uses;
  for (const Node import : imports) {
    for (const Node name : bound_names(import)) {
      if (model.scopes().module_level(name.text()).size() != 1 && import.is(Kind::kImportFrom))
        return false;
      for (const Node read : reads_of(model, name)) {
        const Node function = running_function(read);
        if (!function) return false;
        const auto known = std::find_if(uses.begin(), uses.end(),
                                        [&](const Use& use) { return use.function == function; });
        if (known != uses.end()) {
          known->reads.push_back(read);
        } else if (uses.size() == kMaxGuards) {
          return false;
        } else {
          uses.push_back({function, name, {read}});
        }
      }
    }
  }
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    return add_guard(model, use, package, edits);
  });
}

// Puts one `try` around each group of neighbouring imports.
bool catch_imports(const std::vector<Node>& imports, std::vector<Edit>& edits) {
  for (std::size_t first = 0; first < imports.size();) {
    std::size_t last = first;
    while (last + 1 < imports.size() && imports[last].next_sibling() == imports[last + 1]) ++last;
    std::vector<std::string_view> names;
    for (std::size_t i = first; i <= last; ++i) {
      if (!stands_alone(imports[i]) || imports[i].text().find('\n') != std::string_view::npos)
        return false;
      for (const Node name : bound_names(imports[i])) {
        if (std::find(names.begin(), names.end(), name.text()) == names.end())
          names.push_back(name.text());
      }
    }
    if (names.empty() || names.size() > 4) return false;
    const std::string line =
        fmt::format("{}{}", newline_of(imports[first]), indentation_of(imports[first]));
    edits.push_back(insert_before(imports[first], fmt::format("try:{}    ", line)));
    for (std::size_t i = first + 1; i <= last; ++i)
      edits.push_back(insert_before(imports[i], "    "));
    edits.push_back(insert_after(
        imports[last],
        fmt::format("{0}except ImportError:{0}    {1} = None", line, fmt::join(names, " = "))));
    first = last + 1;
  }
  return true;
}

void report(const PythonContext& context, Node module, const Package& package,
            const std::vector<Node>& imports, Reporter& reporter) {
  const bool inside = static_cast<bool>(syntax::function_of(module));
  const bool nvml = package.word == "nvml";
  Finding& finding = reporter.report(
      module, nvml     ? fmt::format("On a machine without NVIDIA's driver `{}` does not start: "
                                         "nvmlInit() raises.",
                                     package.root)
              : inside ? fmt::format("On a machine without CUDA `{}` is missing or does not start: "
                                     "this raises when the function is called.",
                                     package.root)
                       : fmt::format("On a machine without CUDA `{}` is missing or does not work: "
                                     "the file cannot be imported.",
                                     package.root));
  if (nvml) {
    const Node function = syntax::function_of(bare_init(context.model));
    if (function.is(Kind::kFunction))
      finding.unless.push_back(
          {flow::Condition::Kind::kCalledWithCuda, flow::name_of(function), {}});
  }
  if (!inside) finding.unless.push_back({flow::Condition::Kind::kImportedWithCare, {}, {}});
  Fix fix;
  fix.title = fmt::format("import it if it is installed, and use {} otherwise", package.instead);
  std::vector<Edit> edits;
  if (!inside && !nvml && guard_functions(context.model, imports, package.root, edits) &&
      catch_imports(imports, edits)) {
    fix.edits = std::move(edits);
    fix.applicability = Applicability::kUnsafe;
    fix.title = "catch the ImportError, and raise a clear error where it is used";
  }
  finding.fix.push_back(std::move(fix));
}

// The dotted module of an import that names a CUDA-only package; invalid for others.
Node tied_module(const PythonContext& context, Node import, const Package*& package) {
  const bool from = import.is(Kind::kImportFrom);
  for (Node part = import.first_child(); part; part = part.next_sibling()) {
    if (part.field() != (from ? Field::kModuleName : Field::kName)) continue;
    const Node module = part.is(Kind::kAliasedImport) ? part.child(Field::kName) : part;
    package = package_of(module.text());
    if (package != nullptr && !is_dedicated(context.path, *package)) return module;
  }
  return {};
}

bool is_tie(const PythonContext& context, Node import, const Package& package) {
  const SemanticModel& model = context.model;
  return !deciding_branch(import) && !is_optional_import(model, import) &&
         !semantics::is_cuda_guarded(model, import) && !is_choice(model, import, package) &&
         (package.word != "nvml" || bare_init(model));
}

// All imports of the package that tie the file at module level, this one first.
std::vector<Node> group_of(const PythonContext& context, Node import, const Package& package) {
  std::vector<Node> group;
  for (Node other = import; other; other = other.next_sibling()) {
    if (!other.is_any(Kind::kImport, Kind::kImportFrom)) continue;
    const Package* its = nullptr;
    if (tied_module(context, other, its) && its->word == package.word) group.push_back(other);
  }
  return group;
}

bool is_first(const PythonContext& context, Node import, const Package& package) {
  for (Node other = import.parent().first_child(); other && other != import;
       other = other.next_sibling()) {
    const Package* its = nullptr;
    if (other.is_any(Kind::kImport, Kind::kImportFrom) && tied_module(context, other, its) &&
        its->word == package.word)
      return false;
  }
  return true;
}

void check(const PythonContext& context, Node import, Reporter& reporter) {
  if (context.is_test() || context.is_build_script()) return;
  const Package* package = nullptr;
  const Node module = tied_module(context, import, package);
  if (!module || !is_tie(context, import, *package) || !is_first(context, import, *package)) return;
  report(context, module, *package, group_of(context, import, *package), reporter);
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kImport, Kind::kImportFrom},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::cuda_only_package
