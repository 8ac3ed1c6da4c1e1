// Finds on a machine the inputs of a build plan.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "build_gate/build_obstacles.h"
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

// The toolkit's part for this machine, where conda's and NVIDIA's packages have headers and
// libraries:
// "/usr/local/cuda/targets/x86_64-linux"; empty if there is none.
std::string target_folder(const host::Machine& machine, const std::string& path) {
  const auto entries = machine.files->list(path + "/targets");
  if (!entries) return {};
  for (const base::DirectoryEntry& entry : *entries)
    if (is_folder(machine, fmt::format("{}/targets/{}/include", path, entry.name)))
      return fmt::format("{}/targets/{}", path, entry.name);
  return {};
}

// Since CUDA 13 thrust and cub are in a folder that nvcc adds itself.
bool has_header(const host::Machine& machine, const std::string& folder, const std::string& name) {
  return is_file(machine, base::join_path(folder, name)) ||
         is_file(machine, fmt::format("{}/cccl/{}", folder, name));
}

// Finds the headers and the runtime library, and where torch.utils.cpp_extension would not look.
void read_contents(const host::Machine& machine, BuildToolkit& toolkit) {
  const std::string target = target_folder(machine, toolkit.path);
  std::string include = toolkit.path + "/include";
  if (!is_file(machine, include + "/cuda_runtime.h") &&
      is_file(machine, target + "/include/cuda_runtime.h"))
    include = toolkit.include = target + "/include";
  toolkit.headers = is_file(machine, include + "/cuda_runtime.h");
  for (const auto* const names : {&cuda_headers(), &usual_cuda_headers()})
    for (const std::string& name : *names)
      if (!has_header(machine, include, name)) toolkit.lacks.push_back(name);
  for (const std::string& folder :
       {toolkit.path + "/lib64", toolkit.path + "/lib", target + "/lib"}) {
    const auto entries = machine.files->list(folder);
    if (!entries) continue;
    for (const base::DirectoryEntry& entry : *entries) {
      if (entry.name == "libcudart.so") {
        if (!folder.ends_with("/lib64")) toolkit.libraries = folder;
        toolkit.versioned_runtime.clear();
        return;
      }
      if (entry.name.starts_with("libcudart.so.") && toolkit.versioned_runtime.empty())
        toolkit.versioned_runtime = base::join_path(folder, entry.name);
    }
  }
}

BuildToolkit looked_into(const host::Machine& machine, const host::Toolkit& toolkit) {
  BuildToolkit found{toolkit.path, toolkit.from, toolkit.nvcc, false, {}, 0, 0};
  read_contents(machine, found);
  read_bounds(machine, found);
  if (found.nvcc.empty()) return found;
  const std::string listed = machine.output({toolkit.path + "/bin/nvcc", "--list-gpu-code"});
  for (const std::string_view line : base::split(listed, '\n'))
    if (base::trim(line).starts_with("sm_")) found.archs.emplace_back(base::trim(line));
  return found;
}

// The environments whose packages a build sees: the one that was named, else the active ones.
std::vector<std::string> environments_of(const host::Machine& machine, const TorchChoice& choice) {
  if (!choice.python.empty())
    return {is_folder(machine, choice.python)
                ? choice.python
                : std::string(base::parent_path(base::parent_path(choice.python)))};
  std::vector<std::string> found;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const auto value = machine.environment.find(name);
        value != machine.environment.end() && !value->second.empty())
      found.push_back(value->second);
  return found;
}

// The folders of the nvidia-* packages: nvidia/cu13 since CUDA 13, before that one per library
// (nvidia/cublas, nvidia/cuda_nvcc). Those beside torch first, then those of the environment, which
// may use a torch of the system.
std::vector<std::string> package_folders(const host::Machine& machine, const host::Torch& torch,
                                         const TorchChoice& choice) {
  std::vector<std::string> sites;
  if (!torch.root.empty()) sites.emplace_back(base::parent_path(torch.root));
  for (const std::string& prefix : environments_of(machine, choice)) {
    const auto entries = machine.files->list(prefix + "/lib");
    if (!entries) continue;
    for (const base::DirectoryEntry& entry : *entries)
      if (entry.name.starts_with("python3."))
        sites.push_back(fmt::format("{}/lib/{}/site-packages", prefix, entry.name));
  }
  std::vector<std::string> folders;
  for (const std::string& site : sites) {
    const std::string root = base::join_path(site, "nvidia");
    const auto entries = machine.files->list(root);
    if (!entries) continue;
    for (const base::DirectoryEntry& entry : *entries) {
      std::string folder = base::join_path(root, entry.name);
      if (std::find(folders.begin(), folders.end(), folder) == folders.end())
        folders.push_back(std::move(folder));
    }
  }
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
  for (const std::string& folder : folders) {
    const std::string include = folder + "/include";
    if (!is_folder(machine, include)) continue;
    inputs.headers.push_back(include);
    for (const auto* const names : {&cuda_headers(), &usual_cuda_headers()})
      for (const std::string& name : *names) {
        if (is_file(machine, base::join_path(include, name)))
          inputs.packaged_headers.try_emplace(name, include);
        else if (has_header(machine, include, name))
          inputs.packaged_headers.try_emplace(name, include + "/cccl");
      }
  }
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
  const auto folders = package_folders(machine, inputs.torch, choice);
  add_packaged(machine, folders, inputs, facts);
  add_headers(machine, folders, inputs);
  inputs.compiler = host_compiler(machine);
  inputs.compilers = device_compilers(machine);
  return inputs;
}

}  // namespace torchport::build_gate
