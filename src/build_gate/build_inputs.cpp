// Finds on a machine the inputs of a build plan.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "build_gate/build_plan.h"
#include "host/probe/probe.h"

namespace torchport::build_gate {

namespace {

bool is_file(const host::Machine& machine, const std::string& path) {
  return machine.files->status(path, true).type == base::FileType::kRegular;
}

bool is_folder(const host::Machine& machine, const std::string& path) {
  return machine.files->status(path, true).type == base::FileType::kDirectory;
}

// The first number after `words`; 0 if there is none.
std::uint64_t number_after(std::string_view text, std::string_view words) {
  const auto at = text.find(words);
  if (at == std::string_view::npos) return 0;
  std::uint64_t number = 0;
  for (const char c : text.substr(at + words.size(), 4)) {
    if (c < '0' || c > '9') break;
    number = 10 * number + static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

// Reads the newest accepted host compilers from crt/host_config.h, which refuses others: "#if
// __GNUC__ > 15", "__clang_major__ >= 21".
void read_bounds(const host::Machine& machine, BuildToolkit& toolkit) {
  const std::string text = read_text(machine, toolkit.path + "/include/crt/host_config.h");
  toolkit.newest_gcc = number_after(text, "__GNUC__ > ");
  const std::uint64_t first_refused = number_after(text, "__clang_major__ >= ");
  toolkit.newest_clang = first_refused == 0 ? 0 : first_refused - 1;
}

BuildToolkit looked_into(const host::Machine& machine, const host::Toolkit& toolkit) {
  BuildToolkit found{toolkit.path, toolkit.from, toolkit.nvcc, false, {}, 0, 0};
  found.headers = is_file(machine, toolkit.path + "/include/cuda_runtime.h");
  read_bounds(machine, found);
  if (found.nvcc.empty()) return found;
  const std::string listed = machine.output({toolkit.path + "/bin/nvcc", "--list-gpu-code"});
  for (const std::string_view line : base::split(listed, '\n'))
    if (base::trim(line).starts_with("sm_")) found.archs.emplace_back(base::trim(line));
  return found;
}

// The folders of the nvidia-* packages beside torch: nvidia/cu13 since CUDA 13, before that one per
// library (nvidia/cublas, nvidia/cuda_nvcc).
std::vector<std::string> package_folders(const host::Machine& machine, const host::Torch& torch) {
  const std::string root = base::join_path(base::parent_path(torch.root), "nvidia");
  std::vector<std::string> folders;
  const auto entries = machine.files->list(root);
  if (torch.root.empty() || !entries) return folders;
  for (const base::DirectoryEntry& entry : *entries)
    folders.push_back(base::join_path(root, entry.name));
  return folders;
}

void add_packaged(const host::Machine& machine, const std::vector<std::string>& folders,
                  BuildInputs& inputs, host::Facts& facts) {
  for (const std::string& folder : folders) {
    if (!is_file(machine, folder + "/bin/nvcc")) continue;
    facts.environment = {{"CUDA_HOME", folder}};
    facts.toolkits.clear();
    host::Machine alone = machine;
    alone.environment.clear();
    probe_toolkits(alone, facts);
    if (facts.toolkits.empty()) continue;
    facts.toolkits.front().from = "nvidia packages";
    inputs.toolkits.push_back(looked_into(machine, facts.toolkits.front()));
  }
}

// Adds folders of headers. Toolkits in containers often lack the libraries' headers, which
// ATen/cuda/CUDAContext.h includes.
void add_headers(const host::Machine& machine, const std::vector<std::string>& folders,
                 BuildInputs& inputs) {
  for (const std::string& folder : folders)
    if (is_folder(machine, folder + "/include")) inputs.headers.push_back(folder + "/include");
}

std::string in_path(const host::Machine& machine, std::string_view name) {
  if (name.find('/') != std::string_view::npos) return std::string(name);
  const auto path = machine.environment.find("PATH");
  if (path == machine.environment.end()) return {};
  for (const std::string_view folder : base::split(path->second, ':')) {
    std::string candidate = base::join_path(folder, name);
    if (!folder.empty() && is_file(machine, candidate)) return candidate;
  }
  return {};
}

// Reads "g++ (Debian 12.2.0-14) 12.2.0" or "Debian clang version 16.0.6".
void read_version(std::string_view text, HostCompiler& compiler) {
  const std::string_view line = text.substr(0, text.find('\n'));
  constexpr std::string_view kClang = "clang version ";
  if (const auto at = line.find(kClang); at != std::string_view::npos) {
    compiler.family = "clang";
    compiler.version = line.substr(at + kClang.size());
  } else if (const auto close = line.find(") "); close != std::string_view::npos) {
    compiler.family = "gcc";
    compiler.version = line.substr(close + 2);
  }
  compiler.version = compiler.version.substr(0, compiler.version.find_first_of(" -\r"));
}

// The host compiler that nvcc calls: its own setting, CMake's, the one that torch passes to -ccbin,
// else gcc.
HostCompiler host_compiler(const host::Machine& machine) {
  HostCompiler compiler;
  std::string name = "gcc";
  for (const char* variable : {"NVCC_CCBIN", "CUDAHOSTCXX", "CC"}) {
    const auto found = machine.environment.find(variable);
    if (found == machine.environment.end() || base::trim(found->second).empty()) continue;
    // "ccache gcc": the compiler is the last word.
    const std::string_view words = base::trim(found->second);
    name = words.substr(words.rfind(' ') + 1);
    break;
  }
  compiler.path = in_path(machine, name);
  if (compiler.path.empty()) return compiler;
  // Only a version is read, so the language that LC_ALL selects does not matter.
  read_version(machine.output({compiler.path, "--version"}), compiler);
  return compiler;
}

base::Result<host::Torch> torch_of(const host::Machine& machine, const TorchChoice& choice) {
  if (!choice.torch.empty()) {
    for (const std::string& root : {choice.torch, base::join_path(choice.torch, "torch")})
      if (is_file(machine, root + "/version.py"))
        return read_torch(machine, machine.files->canonical(root).value_or(root), {});
    return base::fail(base::ErrorCode::kUsage, "does not contain torch: it has no version.py",
                      choice.torch);
  }
  host::Machine chosen = machine;
  if (!choice.python.empty()) {
    chosen.environment.clear();
    chosen.prefixes = {choice.python};
    if (!is_folder(machine, choice.python)) {
      if (!is_file(machine, choice.python))
        return base::fail(base::ErrorCode::kUsage,
                          "is neither a Python interpreter nor the folder of an environment",
                          choice.python);
      chosen.prefixes = {std::string(base::parent_path(base::parent_path(choice.python)))};
    }
  }
  host::Facts facts;
  for (const char* name : {"PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const auto found = chosen.environment.find(name);
    if (found != chosen.environment.end()) facts.environment.insert(*found);
  }
  probe_torch(chosen, facts);
  if (!facts.torches.empty()) return facts.torches.front();
  if (!choice.python.empty())
    return base::fail(base::ErrorCode::kUsage, "has no torch", choice.python);
  return host::Torch{};
}

}  // namespace

base::Result<BuildInputs> build_inputs(const host::Machine& machine, const TorchChoice& choice) {
  BuildInputs inputs;
  auto torch = torch_of(machine, choice);
  if (!torch) return tl::unexpected(torch.error());
  inputs.torch = std::move(*torch);
  host::Facts facts;
  for (const std::string& name : build_variables())
    if (const auto found = machine.environment.find(name); found != machine.environment.end())
      inputs.environment.insert(*found);
  facts.environment = inputs.environment;
  probe_toolkits(machine, facts);
  for (const host::Toolkit& toolkit : facts.toolkits)
    inputs.toolkits.push_back(looked_into(machine, toolkit));
  const auto folders = package_folders(machine, inputs.torch);
  add_packaged(machine, folders, inputs, facts);
  add_headers(machine, folders, inputs);
  inputs.compiler = host_compiler(machine);
  return inputs;
}

}  // namespace torchport::build_gate
