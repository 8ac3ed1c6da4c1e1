#include "runtime_build/probe.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <cxxabi.h>
#include <fmt/format.h>

#include "base/elf.h"
#include "base/file_system.h"
#include "base/text.h"
#include "runtime_build/work.h"
#include "versions/version.h"

namespace torchport::runtime_build {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSchemas = "../torchgen/packaged/ATen/native/native_functions.yaml";

// The path from src/ or include/ on: compilers name files of the copied sources.
std::string source_path(std::string_view path) {
  for (const std::string_view root : {"/source/src/", "/source/include/"})
    if (const auto at = path.rfind(root); at != std::string_view::npos)
      return std::string(path.substr(at + std::string_view("/source/").size()));
  return std::string(path);
}

// "- func: name(args) -> result" lines: the name with its overload, and the whole.
std::map<std::string, std::string> schemas_of(std::string_view yaml) {
  std::map<std::string, std::string> schemas;
  constexpr std::string_view kBefore = "- func: ";
  for (const std::string_view line : base::split(yaml, '\n')) {
    if (!line.starts_with(kBefore)) continue;
    const std::string_view schema = base::trim(line.substr(kBefore.size()));
    schemas.emplace(schema.substr(0, schema.find('(')), schema);
  }
  return schemas;
}

// Calls `see` for each regular file below a folder whose name ends in one of `endings`.
void each_file(const std::string& folder, const std::vector<std::string_view>& endings,
               const std::function<void(const fs::path&, const std::string&)>& see) {
  std::error_code error;
  const auto options = fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator at(folder, options, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename();
    const bool wanted = std::any_of(endings.begin(), endings.end(),
                                    [&](std::string_view one) { return name.ends_with(one); });
    if (!wanted) continue;
    if (const auto text = base::real_file_system().read(at->path().string()))
      see(at->path(), *text);
  }
}

// The identifiers of a text that begin with an underscore.
void add_names(std::string_view text, std::set<std::string, std::less<>>& names) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_' || (i > 0 && base::is_identifier_char(text[i - 1]))) continue;
    std::size_t end = i;
    while (end < text.size() && base::is_identifier_char(text[end])) ++end;
    names.emplace(text.substr(i, end - i));
    i = end;
  }
}

// All names in the Python files of a torch, and in its library for Python if that is there.
std::set<std::string, std::less<>> names_of(const std::string& torch) {
  std::set<std::string, std::less<>> names;
  for (const char* part : {"_C", "cuda", "xpu", "mps", "accelerator", "distributed", "utils"})
    each_file(torch + "/" + part, {".py", ".pyi"},
              [&](const fs::path& path, const std::string& text) {
                names.insert(path.stem());  // a module is a name, too
                add_names(text, names);
              });
  if (const auto library = base::real_file_system().read(torch + "/lib/libtorch_python.so"))
    add_names(*library, names);
  return names;
}

// Whether a module since_2_14 or until_2_11 of the shim is for this version.
bool is_for(const std::string& module, const std::string& version) {
  const bool since = module.starts_with("since_");
  if (!since && !module.starts_with("until_")) return true;
  std::string named = module.substr(6);
  std::replace(named.begin(), named.end(), '_', '.');
  const auto parts = versions::parse_version(version);
  const std::string minor = fmt::format("{}.{}", parts.at(0), parts.at(1));
  return since ? !versions::older(minor, named) : !versions::older(named, minor);
}

void check_names(const std::string& package, const TorchFiles& torch, Probed& probed) {
  const auto names = names_of(torch.root);
  each_file(package + "/virtual/torch_c_shim", {".py"},
            [&](const fs::path& path, const std::string& text) {
              if (!is_for(path.stem(), torch.version)) return;
              const std::string file =
                  "python/torchport/virtual/torch_c_shim/" + path.filename().string();
              for (Use& use : added_names(text, file))
                if (!names.contains(use.name))
                  probed.lacks.push_back({use.file, use.line, use.name, "torch has no such name"});
            });
}

void check_schemas(const Places& places, const TorchFiles& torch, const std::string& reference,
                   Probed& probed) {
  std::vector<Use> operators;
  each_file(places.source + "/src", {".cpp"}, [&](const fs::path& path, const std::string& text) {
    for (Use& use : registered_operators(
             text, source_path("/source/" + fs::relative(path, places.source).string())))
      operators.push_back(std::move(use));
  });
  const base::FileSystem& files = base::real_file_system();
  const auto own = files.read(torch.root + "/" + kSchemas);
  const auto known = files.read(reference + "/" + kSchemas);
  if (!own || !known) {
    probed.not_checked.push_back(fmt::format("schemas of operators: {}/{} is missing",
                                             own ? reference : torch.root, kSchemas));
    return;
  }
  for (Lack& lack : compare_schemas(operators, *own, *known))
    probed.lacks.push_back(std::move(lack));
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return text ? text.get() : name;
}

// The dynamic symbols of all libraries in a folder that are defined there, or that are not: the
// name and the file.
std::map<std::string, std::string> symbols_in(const std::string& folder, bool defined) {
  std::map<std::string, std::string> symbols;
  each_file(folder, {".so", "torchport-infer"},
            [&](const fs::path& path, const std::string& bytes) {
              const auto elf = base::ElfFile::parse(bytes);
              if (!elf) return;
              for (const base::ElfSymbol& symbol : elf->dynamic_symbols())
                if (symbol.defined == defined && symbol.global && (defined || !symbol.weak))
                  symbols.emplace(symbol.name, path.filename().string());
            });
  return symbols;
}

void check_symbols(const std::string& result, const TorchFiles& torch, Probed& probed) {
  const auto torchs = symbols_in(torch.root + "/lib", true);
  const auto own = symbols_in(result, true);
  for (const auto& [symbol, file] : symbols_in(result, false)) {
    if (torchs.contains(symbol) || own.contains(symbol)) continue;
    const std::string name = demangled(symbol);
    // Others belong to the system's libraries.
    const bool of_torch = name.find("at::") != std::string::npos ||
                          name.find("c10") != std::string::npos ||
                          name.find("torch::") != std::string::npos;
    if (of_torch)
      probed.lacks.push_back({file, 0, name, "no library of this torch has the symbol"});
  }
}

}  // namespace

std::vector<Lack> compile_errors(std::string_view log) {
  std::vector<Lack> lacks;
  std::set<std::pair<std::string, std::uint32_t>> seen;  // a macro has many errors in one line
  for (const std::string_view line : base::split(log, '\n')) {
    std::string_view kind = ": error: ";
    auto at = line.find(kind);
    if (at == std::string_view::npos) at = line.find(kind = ": fatal error: ");
    if (at == std::string_view::npos) continue;
    // "path:line:column"
    const auto parts = base::split(line.substr(0, at), ':');
    Lack lack{source_path(parts.front()), 0, {}, std::string(line.substr(at + kind.size()))};
    if (parts.size() > 1)
      std::from_chars(parts[1].data(), parts[1].data() + parts[1].size(), lack.line);
    if (seen.emplace(lack.file, lack.line).second) lacks.push_back(std::move(lack));
  }
  return lacks;
}

namespace {

// Each `before`NAME`after` of a text, at most one in a line.
std::vector<Use> names_between(std::string_view text, const std::string& file,
                               std::string_view before, std::string_view after) {
  std::vector<Use> uses;
  std::uint32_t number = 0;
  for (const std::string_view line : base::split(text, '\n')) {
    ++number;
    const auto at = line.find(before);
    if (at == std::string_view::npos || base::trim(line).starts_with("//")) continue;
    const std::string_view rest = line.substr(at + before.size());
    const auto end = rest.find('"');
    if (end == std::string_view::npos || !rest.substr(end).starts_with(after)) continue;
    uses.push_back({file, number, std::string(rest.substr(0, end))});
  }
  return uses;
}

}  // namespace

std::vector<Use> registered_operators(std::string_view text, const std::string& file) {
  return names_between(text, file, "aten.impl(\"", "\",");
}

std::vector<Use> added_names(std::string_view text, const std::string& file) {
  std::vector<Use> uses = names_between(text, file, "        \"", "\": ");
  std::erase_if(uses, [](const Use& use) { return !use.name.starts_with('_'); });
  return uses;
}

std::vector<Lack> compare_schemas(const std::vector<Use>& operators, std::string_view torch,
                                  std::string_view reference) {
  const auto own = schemas_of(torch);
  const auto known = schemas_of(reference);
  std::vector<Lack> lacks;
  for (const Use& use : operators) {
    const auto found = own.find(use.name);
    const auto expected = known.find(use.name);
    if (found == own.end())
      lacks.push_back({use.file, use.line, use.name, "torch has no such operator"});
    else if (expected != known.end() && expected->second != found->second)
      lacks.push_back(
          {use.file, use.line, use.name,
           fmt::format("the schema is {}, and was {}", found->second, expected->second)});
  }
  return lacks;
}

base::Result<Probed> probe(const BuildRequest& request, const std::string& package,
                           const std::string& reference) {
  const base::FileSystem& files = base::real_file_system();
  const std::string target = built_folder(files, request.places, request.torch);
  const std::string parent = fs::path(target).parent_path();
  Workplace::remove_left(parent);
  const auto place = Workplace::make(parent);
  if (!place) return tl::unexpected<base::Error>(place.error());
  Work work(request, *place);
  if (const auto copied = work.copy_sources(); !copied)
    return tl::unexpected<base::Error>(copied.error());
  Probed probed;
  bool well = true;
  for (const Step& step : work.steps(true)) well = well && work.run(step, probed.built);
  if (!well && probed.built.state != Built::State::kFailed) return probed;
  probed.lacks = compile_errors(work.log());
  if (!well && probed.lacks.empty())
    for (const std::string& error : probed.built.errors)
      probed.lacks.push_back({"CMakeLists.txt", 0, {}, error});
  check_schemas(request.places, request.torch, reference, probed);
  check_names(package, request.torch, probed);
  if (!well)
    probed.not_checked.emplace_back("symbols: the libraries do not compile");
  else
    check_symbols(work.result(), request.torch, probed);
  const std::string python_part = request.torch.root + "/lib/libtorch_python.so";
  const bool importable = files.status(python_part, true).type == base::FileType::kRegular;
  if (!importable) {
    probed.not_checked.push_back("a virtual device: " + python_part + " is missing");
  } else if (well && !work.run(work.trial(), probed.built)) {
    if (probed.built.state != Built::State::kFailed) return probed;
    probed.lacks.push_back({"a virtual device", 0, {}, probed.built.errors.front()});
  }
  return probed;
}

}  // namespace torchport::runtime_build
