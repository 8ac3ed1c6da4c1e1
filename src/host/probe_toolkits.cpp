// CUDA toolkits, in the order in which builds of extensions find them.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "host/probe.h"

namespace torchport::host {

namespace {

std::string version_of(const Machine& machine, const std::string& path) {
  const auto whole =
      nlohmann::json::parse(read_text(machine, base::join_path(path, "version.json")), nullptr,
                            /*allow_exceptions=*/false);
  if (!whole.is_object()) return {};
  const auto cuda = whole.find("cuda");
  if (cuda == whole.end() || !cuda->is_object()) return {};
  const auto version = cuda->find("version");
  return version != cuda->end() && version->is_string() ? version->get<std::string>()
                                                        : std::string();
}

// "Cuda compilation tools, release 13.0, V13.0.88".
std::string nvcc_version(const Machine& machine, const std::string& nvcc) {
  const std::string text = machine.output({nvcc, "--version"});
  const auto at = text.find("release ");
  if (at == std::string::npos) return {};
  const std::string_view rest = std::string_view(text).substr(at + 8);
  return std::string(rest.substr(0, rest.find_first_of(", \n")));
}

void add(const Machine& machine, Facts& facts, const std::string& path, const std::string& from) {
  const std::string nvcc = base::join_path(base::join_path(path, "bin"), "nvcc");
  const bool has_nvcc = machine.files->status(nvcc, true).type == base::FileType::kRegular;
  const auto canonical = machine.files->canonical(path);
  if (!canonical || (!has_nvcc && version_of(machine, path).empty())) return;
  const bool known =
      std::any_of(facts.toolkits.begin(), facts.toolkits.end(),
                  [&](const Toolkit& toolkit) { return toolkit.path == *canonical; });
  if (known) return;
  facts.toolkits.push_back({*canonical, version_of(machine, path),
                            has_nvcc ? nvcc_version(machine, nvcc) : std::string(), from});
}

}  // namespace

void probe_toolkits(const Machine& machine, Facts& facts) {
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const auto path = facts.variable(name); path && !path->empty())
      add(machine, facts, *path, name);
  const auto path = machine.environment.find("PATH");
  if (path != machine.environment.end()) {
    for (const std::string_view folder : base::split(path->second, ':')) {
      const std::string nvcc = base::join_path(folder, "nvcc");
      if (folder.empty() || machine.files->status(nvcc, true).type != base::FileType::kRegular)
        continue;
      if (const auto real = machine.files->canonical(nvcc))
        add(machine, facts, std::string(base::parent_path(base::parent_path(*real))), "PATH");
    }
  }
  const auto entries = machine.files->list("/usr/local");
  if (!entries) return;
  for (const base::DirectoryEntry& entry : *entries)
    if (entry.name.starts_with("cuda"))
      add(machine, facts, base::join_path("/usr/local", entry.name), "/usr/local");
}

}  // namespace torchport::host
