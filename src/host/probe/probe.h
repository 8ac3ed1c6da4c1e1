// Finds the facts of a machine in its files, its environment and its driver's libraries. A probe
// decides nothing; causes do.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "host/facts/facts.h"

namespace torchport::host {

// The ways in which a machine is asked. Tests replace each of them.
struct Machine {
  const base::FileSystem* files = nullptr;
  std::map<std::string, std::string> environment;
  // Folders of Python environments, the active one first. Those that environment variables name are
  // added.
  std::vector<std::string> prefixes;
  std::function<DeviceNode(const std::string& path)> node;  // tells who may open a device node
  // Runs a program and returns its standard output; empty if it fails or takes more than two
  // seconds.
  std::function<std::string(const std::vector<std::string>& command)> output;
  bool load_libraries = true;  // NVML, ROCm SMI, Level Zero
};

// This machine. `prefix` is the environment in which the program is installed.
[[nodiscard]] Machine this_machine(const std::string& prefix);

// Finds everything that can be found without Python and torch. What cannot be read stays empty.
[[nodiscard]] Facts probe(const Machine& machine);

// The parts of probe(); each fills its own members of Facts.
void probe_system(const Machine& machine, Facts& facts);
void probe_devices(const Machine& machine, Facts& facts);
void probe_nvidia(const Machine& machine, Facts& facts);
void probe_toolkits(const Machine& machine, Facts& facts);
void probe_torch(const Machine& machine, Facts& facts);

// Reads the torch in this folder from its files. If it cannot be read, `fault` says why.
[[nodiscard]] Torch read_torch(const Machine& machine, const std::string& root,
                               const std::string& python);
// Adds what keeps this torch from being imported: a Python that its modules are not compiled for,
// libraries that are in none of the folders where they are looked for.
void probe_import(const Machine& machine, const Facts& facts, Torch& torch);
// The value of a line of torch/version.py, such as "cuda: Optional[str] = '13.0'"; empty for None
// and if there is no such line.
[[nodiscard]] std::string version_member(std::string_view text, std::string_view name);
// The folders in which the dynamic linker looks for libraries of drivers.
[[nodiscard]] std::vector<std::string> library_folders(const Machine& machine, const Facts& facts);
[[nodiscard]] std::string read_text(const Machine& machine, const std::string& path);

}  // namespace torchport::host
