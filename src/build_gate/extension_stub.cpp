#include "build_gate/extension_stub.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include "base/elf.h"
#include "base/text.h"

namespace torchport::build_gate {

namespace {

// Namespaces of libraries. A function missing from them does not belong to the project's CUDA
// sources.
constexpr std::string_view kForeign[] = {
    "at::",       "c10::",       "torch::",      "caffe2::", "std::",
    "pybind11::", "__gnu_cxx::", "__cxxabiv1::", "fmt::"};

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? std::string(text.get()) : std::string();
}

// "void ns::scale<float>(at::Tensor)" -> "ns::scale": without template arguments, result and
// parameters. Empty if it is not a function.
std::string qualified_name(std::string_view declaration) {
  std::string name;
  int depth = 0;
  for (const char c : declaration) {
    if (c == '<') ++depth;
    if (depth == 0 && c == '(') return name;
    if (depth == 0 && c == ' ') {
      name.clear();
    } else if (depth == 0) {
      name += c;
    }
    if (c == '>') --depth;
  }
  return {};
}

std::string_view last_part(std::string_view qualified) {
  const auto colon = qualified.rfind(':');
  return colon == std::string_view::npos ? qualified : qualified.substr(colon + 1);
}

// Whether a symbol belongs to the C or C++ library, with which this program is linked, too, or to
// Python.
bool of_the_system(const std::string& symbol) {
  return symbol.starts_with("Py") || symbol.starts_with("_Py") ||
         dlsym(RTLD_DEFAULT, symbol.c_str()) != nullptr;
}

// The qualified name of a function that does not belong to a library; empty for others.
std::string function_name(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;  // extern "C"
  const std::string name = qualified_name(demangled(symbol));
  const bool foreign = std::any_of(std::begin(kForeign), std::end(kForeign),
                                   [&](std::string_view one) { return name.starts_with(one); });
  return foreign ? std::string() : name;
}

bool names_function(const std::vector<std::string>& sources, std::string_view name) {
  return std::any_of(sources.begin(), sources.end(),
                     [&](const std::string& source) { return base::contains_word(source, name); });
}

std::string literal(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      quoted += std::string("\\") + c;
    else if (byte < 0x20 || byte >= 0x7f)
      quoted += fmt::format("\\{:03o}", byte);
    else
      quoted += c;
  }
  return "\"" + quoted + "\"";
}

// An ELF note: sizes of name and description, its type, both padded to four bytes (ELF's gABI).
std::string note(const Provenance& provenance) {
  const std::string json = to_json(provenance);
  return fmt::format(R"(
namespace {{
struct Note {{
  unsigned name_size, description_size, type;
  char name[{}];
  char description[{}];
}};
__attribute__((section("{}"), used, aligned(4))) const Note torchport_note{{
    {}, {}, {}, "{}", {}}};
}}  // namespace
)",
                     (kNoteName.size() + 4) / 4 * 4, (json.size() + 4) / 4 * 4, kNoteSection,
                     kNoteName.size() + 1, json.size(), kNoteType, kNoteName, literal(json));
}

std::string why(const Provenance& provenance) {
  return fmt::format("{} was built without its CUDA part: {}. {}", provenance.extension,
                     provenance.reason,
                     provenance.remedy.empty() ? "" : "What to do: " + provenance.remedy);
}

// Functions throw what the caller's language knows: pybind11 and torch make a RuntimeError of it.
std::string function_stubs(const std::vector<std::string>& symbols, const Provenance& provenance) {
  std::string text = "#include <stdexcept>\n#include <string>\n\n";
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const std::string name = demangled(symbols[i]);
    text += fmt::format(
        "extern \"C\" [[noreturn]] void torchport_stub_{0}() __asm__({1});\n"
        "void torchport_stub_{0}() {{\n"
        "  throw std::runtime_error({2});\n}}\n",
        i, literal(symbols[i]),
        literal((name.empty() ? symbols[i] : name) + ": " + why(provenance)));
  }
  return text;
}

constexpr std::string_view kOperatorStubs = R"(
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {{

using c10::DispatchKey;

void no_cuda(const c10::OperatorHandle& op, torch::jit::Stack*) {{
  TORCH_CHECK_NOT_IMPLEMENTED(false, op.operator_name().name, " has no CUDA kernel: ", {why});
}}
void no_xpu(const c10::OperatorHandle& op, torch::jit::Stack*) {{
  TORCH_CHECK_NOT_IMPLEMENTED(false, op.operator_name().name, " has no XPU kernel: ", {why});
}}
torch::CppFunction stub(DispatchKey key) {{
  return key == DispatchKey::XPU ? torch::CppFunction::makeFromBoxedFunction<&no_xpu>()
                                 : torch::CppFunction::makeFromBoxedFunction<&no_cuda>();
}}

// An operator that is made of others needs no kernel of its own.
bool lacks_kernel(const c10::OperatorName& name, DispatchKey key) {{
  const auto op = c10::Dispatcher::singleton().findOp(name);
  return op && !op->hasKernelForDispatchKey(key) &&
         !op->hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd) &&
         !op->hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd);
}}

// Those that the left out sources name. Where they name none, as macros do, all of the namespace, if it
// is not one of PyTorch's own.
std::vector<std::string> operators_of(const std::string& space, DispatchKey key) {{
  const std::set<std::string> named{{{names}}};
  const std::set<std::string> of_torch{{"aten", "prim", "prims", "quantized", "c10d", "mkldnn"}};
  std::vector<std::string> all, chosen;
  for (const c10::OperatorName& op : c10::Dispatcher::singleton().getAllOpNames()) {{
    if (std::string(op.getNamespace().value_or("")) != space || !lacks_kernel(op, key)) continue;
    const std::string full = c10::toString(op);
    const std::string local = full.substr(space.size() + 2);
    all.push_back(full);
    if (named.count(local) + named.count(local.substr(0, local.find('.'))) > 0)
      chosen.push_back(full);
  }}
  return chosen.empty() && of_torch.count(space) == 0 ? all : chosen;
}}

// What the extension registered before this runs, in the order of its objects.
std::vector<torch::Library> stubs() {{
  const std::vector<std::pair<const char*, DispatchKey>> parts{{{parts}}};
  std::vector<torch::Library> libraries;
  for (const auto& [space, key] : parts) {{
    torch::Library library(torch::Library::IMPL, space, key, __FILE__, __LINE__);
    for (const std::string& name : operators_of(space, key)) library.impl(name.c_str(), stub(key));
    libraries.push_back(std::move(library));
  }}
  return libraries;
}}

const std::vector<torch::Library> kStubs = stubs();

}}  // namespace
)";

std::string literals(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + literal(word);
  return text;
}

std::string operator_stubs(const CudaOperators& operators, const Provenance& provenance) {
  std::string parts;
  for (const std::string& space : operators.namespaces)
    parts += fmt::format("{{{}, DispatchKey::CUDA}}, ", literal(space));
  for (const std::string& space : operators.xpu_namespaces)
    parts += fmt::format("{{{}, DispatchKey::XPU}}, ", literal(space));
  return fmt::format(fmt::runtime(kOperatorStubs), fmt::arg("why", literal(why(provenance))),
                     fmt::arg("names", literals(operators.names)), fmt::arg("parts", parts));
}

}  // namespace

base::Result<std::vector<std::string>> missing_functions(const CudaPart& part) {
  std::set<std::string> defined;
  std::set<std::string> called;
  for (const std::string& object : part.objects) {
    const auto elf = base::ElfFile::parse(object);
    if (!elf) return tl::unexpected(elf.error());
    for (const base::ElfSymbol& symbol : elf->symbols())
      if (symbol.global && !symbol.name.empty())
        (symbol.defined ? defined : called).emplace(symbol.name);
  }
  std::vector<std::string> missing;
  for (const std::string& symbol : called) {
    if (defined.contains(symbol) || of_the_system(symbol)) continue;
    const std::string name = function_name(symbol);
    if (!name.empty() && names_function(part.sources, last_part(name))) missing.push_back(symbol);
  }
  return missing;
}

base::Result<std::string> extension_stub_source(const Provenance& provenance,
                                                const CudaPart& part) {
  const auto missing = missing_functions(part);
  if (!missing) return tl::unexpected(missing.error());
  std::string text =
      "// Written by torchport: how this extension was built, and stubs for a CUDA part that was "
      "not built.\n";
  if (!missing->empty()) text += function_stubs(*missing, provenance);
  const CudaOperators operators = cuda_operators(part.sources);
  if (!operators.namespaces.empty() || !operators.xpu_namespaces.empty())
    text += operator_stubs(operators, provenance);
  return text + note(provenance);
}

}  // namespace torchport::build_gate
