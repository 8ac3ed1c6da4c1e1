// Finds CUDA toolkits, in the order in which builds of extensions look for them.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "host/probe/probe.h"
#include "versions/version.h"

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

// The version in "Cuda compilation tools, release 13.0, V13.0.88".
std::string nvcc_version(const Machine& machine, const std::string& nvcc) {
  const std::string text = machine.output({nvcc, "--version"});
  const auto at = text.find("release ");
  if (at == std::string::npos) return {};
  const std::string_view rest = std::string_view(text).substr(at + 8);
  const std::string version(rest.substr(0, rest.find_first_of(", \n")));
  const bool told = version.size() <= 32 && version.find('.') != std::string::npos &&
                    version.find_first_not_of("0123456789.") == std::string::npos;
  return told ? version : std::string();
}

// The newest accepted gcc in crt/host_config.h, which refuses others: "#if __GNUC__ > 15".
std::uint64_t newest_gcc(const Machine& machine, const std::string& path) {
  const std::string text = read_text(machine, path + "/include/crt/host_config.h");
  constexpr std::string_view kBound = "__GNUC__ > ";
  const auto at = text.find(kBound);
  if (at == std::string::npos) return 0;
  const auto numbers =
      versions::parse_version(std::string_view(text).substr(at + kBound.size(), 4));
  return numbers.empty() || numbers.front() < 0 ? 0 : static_cast<std::uint64_t>(numbers.front());
}

// The version in "gcc (Debian 12.2.0-14) 12.2.0".
std::string gcc_version(const Machine& machine) {
  const auto path = machine.environment.find("PATH");
  if (path == machine.environment.end()) return {};
  for (const std::string_view folder : base::split(path->second, ':')) {
    const std::string gcc = base::join_path(folder, "gcc");
    if (folder.empty() || machine.files->status(gcc, true).type != base::FileType::kRegular)
      continue;
    const std::string text = machine.output({gcc, "-dumpfullversion", "-dumpversion"});
    const std::string version(base::trim(text));
    return versions::parse_version(version).empty() || version.size() > 32 ? std::string()
                                                                           : version;
  }
  return {};
}

void add_toolkit(const Machine& machine, Facts& facts, const std::string& path,
                 const std::string& from) {
  const std::string nvcc = base::join_path(base::join_path(path, "bin"), "nvcc");
  const bool has_nvcc = machine.files->status(nvcc, true).type == base::FileType::kRegular;
  const auto canonical = machine.files->canonical(path);
  if (!canonical || (!has_nvcc && version_of(machine, path).empty())) return;
  const bool known =
      std::any_of(facts.toolkits.begin(), facts.toolkits.end(),
                  [&](const Toolkit& toolkit) { return toolkit.path == *canonical; });
  if (known) return;
  facts.toolkits.push_back({*canonical, version_of(machine, path),
                            has_nvcc ? nvcc_version(machine, nvcc) : std::string(), from,
                            newest_gcc(machine, path)});
}

}  // namespace

void probe_toolkits(const Machine& machine, Facts& facts) {
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const auto path = facts.variable(name); path && !path->empty())
      add_toolkit(machine, facts, *path, name);
  const auto path = machine.environment.find("PATH");
  if (path != machine.environment.end()) {
    for (const std::string_view folder : base::split(path->second, ':')) {
      const std::string nvcc = base::join_path(folder, "nvcc");
      if (folder.empty() || machine.files->status(nvcc, true).type != base::FileType::kRegular)
        continue;
      if (const auto real = machine.files->canonical(nvcc))
        add_toolkit(machine, facts, std::string(base::parent_path(base::parent_path(*real))),
                    "PATH");
    }
  }
  if (const auto entries = machine.files->list("/usr/local"))
    for (const base::DirectoryEntry& entry : *entries)
      if (entry.name.starts_with("cuda"))
        add_toolkit(machine, facts, base::join_path("/usr/local", entry.name), "/usr/local");
  if (!facts.toolkits.empty()) facts.host_gcc = gcc_version(machine);
}

}  // namespace torchport::host
