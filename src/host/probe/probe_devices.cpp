// Finds graphics cards on the PCI bus, their device nodes, and AMD's and Intel's runtimes.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "host/probe/driver_libraries.h"
#include "host/probe/probe.h"
#include "versions/version.h"

namespace torchport::host {

namespace {

constexpr const char* kPci = "/sys/bus/pci/devices";
constexpr const char* kKfd = "/sys/class/kfd/kfd/topology/nodes";

std::vector<std::string> names_in(const Machine& machine, const std::string& folder) {
  std::vector<std::string> names;
  const auto entries = machine.files->list(folder);
  if (!entries) return names;
  for (const base::DirectoryEntry& entry : *entries) names.push_back(entry.name);
  return names;
}

std::string word_of(const Machine& machine, const std::string& path) {
  std::string text(base::trim(read_text(machine, path)));
  return text.starts_with("0x") ? text.substr(2) : text;
}

std::string vendor_named(std::string_view id) {
  if (id == "10de") return "nvidia";
  if (id == "1002") return "amd";
  if (id == "8086") return "intel";
  return {};
}

void probe_pci(const Machine& machine, Facts& facts) {
  for (const std::string& bus : names_in(machine, kPci)) {
    const std::string folder = base::join_path(kPci, bus);
    // Display controllers: VGA, 3D (compute cards) and others.
    if (!word_of(machine, folder + "/class").starts_with("03")) continue;
    Gpu gpu;
    const std::string vendor = word_of(machine, folder + "/vendor");
    gpu.vendor = vendor_named(vendor);
    if (gpu.vendor.empty()) continue;  // cards of management controllers and of virtual machines
    gpu.bus = bus;
    gpu.id = vendor + ":" + word_of(machine, folder + "/device");
    if (const auto driver = machine.files->canonical(folder + "/driver"))
      gpu.driver = std::string(base::file_name(*driver));
    facts.gpus.push_back(std::move(gpu));
  }
}

void probe_nodes(const Machine& machine, Facts& facts) {
  for (const std::string& folder : {std::string("/dev"), std::string("/dev/dri")}) {
    for (const std::string& name : names_in(machine, folder)) {
      const bool wanted = folder == "/dev"
                              ? name.starts_with("nvidia") || name == "kfd" || name == "dxg"
                              : name.starts_with("renderD");
      const std::string path = base::join_path(folder, name);
      if (wanted && machine.files->status(path, true).type != base::FileType::kDirectory)
        facts.nodes.push_back(machine.node(path));
    }
  }
}

// The architecture in "gfx_target_version 90010", which is gfx90a: two digits for the minor
// version, two for the stepping.
std::string gfx_of(std::string_view number) {
  const auto parsed = versions::parse_version(number);
  if (parsed.empty() || parsed.front() == 0) return {};
  const int version = parsed.front();
  return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

void probe_amd(const Machine& machine, Facts& facts) {
  std::vector<std::string> found;
  for (const std::string& node : names_in(machine, kKfd)) {
    const std::string properties = read_text(machine, fmt::format("{}/{}/properties", kKfd, node));
    for (const std::string_view line : base::split(properties, '\n')) {
      if (!line.starts_with("gfx_target_version ")) continue;
      if (std::string gfx = gfx_of(line.substr(19)); !gfx.empty()) found.push_back(std::move(gfx));
    }
  }
  std::size_t next = 0;
  for (Gpu& gpu : facts.gpus)
    if (gpu.vendor == "amd" && next < found.size()) gpu.capability = found[next++];
  facts.rocm = std::string(base::trim(read_text(machine, "/opt/rocm/.info/version")));
}

}  // namespace

void probe_devices(const Machine& machine, Facts& facts) {
  probe_pci(machine, facts);
  probe_nodes(machine, facts);
  probe_amd(machine, facts);
  for (const std::string& folder : library_folders(machine, facts)) {
    const std::string loader = base::join_path(folder, "libze_loader.so.1");
    if (machine.files->status(loader, true).type != base::FileType::kMissing) {
      facts.level_zero = loader;
      break;
    }
  }
  if (!machine.load_libraries) return;
  // Asks only if there is such a card, because an answer takes time and most machines have none.
  if (!facts.of("amd").empty()) {
    const DriverAnswer answer = ask_rocm_smi();
    facts.rocm_smi = answer.state;
    merge(facts.gpus, answer.gpus);
  }
  // In WSL only Level Zero tells whether there is one.
  if ((!facts.of("intel").empty() || facts.wsl) && !facts.level_zero.empty()) {
    const DriverAnswer answer = ask_level_zero();
    facts.level_zero_state = answer.state;
    merge(facts.gpus, answer.gpus);
  }
}

}  // namespace torchport::host
