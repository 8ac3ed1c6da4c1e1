// Looks at a machine: its files, its environment, its driver's library.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "host/facts/facts.h"

namespace torchport::host {

// What a machine is asked. Each is replaced in tests.
struct Machine {
  const base::FileSystem* files = nullptr;
  std::map<std::string, std::string> environment;
  // Folders of Python environments, the one in use first; those of the environment's variables are
  // added.
  std::vector<std::string> prefixes;
  std::function<DeviceNode(const std::string& path)> node;  // who may open it
  // What a program writes to its standard output within two seconds; empty where it fails.
  std::function<std::string(const std::vector<std::string>& command)> output;
  bool load_libraries = true;  // NVML, ROCm SMI, Level Zero
};

// This machine. `prefix`: the environment that the program is installed in.
[[nodiscard]] Machine this_machine(const std::string& prefix);

// Everything that can be told without Python and torch. What cannot be read is left empty.
[[nodiscard]] Facts probe(const Machine& machine);

// The parts of it, each for its own members of Facts.
void probe_system(const Machine& machine, Facts& facts);
void probe_devices(const Machine& machine, Facts& facts);
void probe_nvidia(const Machine& machine, Facts& facts);
void probe_toolkits(const Machine& machine, Facts& facts);
void probe_torch(const Machine& machine, Facts& facts);

// The torch of this folder, read from its files; `fault` says why where it cannot be read.
[[nodiscard]] Torch read_torch(const Machine& machine, const std::string& root,
                               const std::string& python);
// The folders in which the dynamic linker looks for libraries of drivers.
[[nodiscard]] std::vector<std::string> library_folders(const Machine& machine, const Facts& facts);
[[nodiscard]] std::string read_text(const Machine& machine, const std::string& path);

}  // namespace torchport::host
