// Compares the host with what an artefact needs.
#include <set>
#include <string>
#include <vector>

#include <ATen/cpu/Utils.h>
#include <sys/utsname.h>
#include <torch/version.h>
#include <torchport/device.h>
#include <torchport/session.h>

#include "base/text.h"
#include "versions/version.h"

namespace torchport {

namespace {

// Whether this CPU has instructions, by cpuinfo's name of them. An unknown name is none that it
// has.
bool has_instructions(const std::string& name) {
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 11
  static const auto kHas = at::cpu::get_cpu_capabilities();
  const auto found = kHas.find(name);
  return found != kHas.end() && found->second.isBool() && found->second.toBool();
#else
  if (name == "avx2" || name == "fma3" || name == "f16c") return at::cpu::is_avx2_supported();
  if (name == "avx512_vnni") return at::cpu::is_avx512_vnni_supported();
  if (name == "avx512_bf16") return at::cpu::is_avx512_bf16_supported();
  if (name == "amx_tile" || name == "amx_bf16" || name == "amx_int8")
    return at::cpu::is_amx_tile_supported();
  if (name == "amx_fp16") return at::cpu::is_amx_fp16_supported();
  static const std::set<std::string> kCommon = {"avx512_f", "avx512_dq", "avx512_vl", "avx512_bw"};
  return kCommon.contains(name) && at::cpu::is_avx512_supported();
#endif
}

std::string missing_instructions(const std::vector<std::string>& needed) {
  std::string missing;
  for (const std::string& name : needed) {
    if (!has_instructions(name)) missing += (missing.empty() ? "" : ", ") + name;
  }
  return missing;
}

std::string why_not_there(c10::Device device) {
  std::string reason;
  const int count = device_count(device.type(), &reason);
  if (count == 0) return reason;
  if (device.has_index() && device.index() >= count)
    return "there are " + std::to_string(count) + " devices of that kind";
  return {};
}

}  // namespace

std::vector<std::string> unmet_needs(const Contract& contract, c10::Device device) {
  const HostNeeds& needs = contract.host;
  std::vector<std::string> unmet;
  const std::string kind = c10::DeviceTypeName(device.type(), /*lower_case=*/true);
  if (!needs.device.empty() && needs.device != "any" && needs.device != kind) {
    unmet.push_back("it was exported for " + needs.device + " and cannot run on " + device.str() +
                    "; export it again with --device " + kind);
  }
  if (!needs.python.empty())
    unmet.push_back("it needs Python: " + needs.python +
                    "; load it there (torch.export.load), or export it to aoti");
  if (const std::string reason = why_not_there(device); !reason.empty())
    unmet.push_back("there is no " + device.str() + ": " + reason);
  utsname host{};
  uname(&host);
  if (!needs.system.empty() && needs.system != base::lower(host.sysname))
    unmet.push_back("it is compiled for " + needs.system + ", but this machine has " +
                    base::lower(host.sysname));
  if (!needs.machine.empty() && needs.machine != host.machine) {
    unmet.push_back("it is compiled for " + needs.machine + ", but this machine has " +
                    host.machine);
  } else if (const std::string missing = missing_instructions(needs.instructions);
             !missing.empty()) {
    unmet.push_back("it is compiled with instructions that this CPU lacks: " + missing +
                    "; export it again here");
  }
  if (!needs.torch.empty() && versions::older(torch_version(), needs.torch)) {
    unmet.push_back("it needs torch " + needs.torch + " or newer, but this is torch " +
                    torch_version());
  }
  return unmet;
}

}  // namespace torchport
