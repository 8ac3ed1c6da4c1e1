// Compares the host with what an artefact needs.
#include <string>
#include <vector>

#include <sys/utsname.h>
#include <torchport/device.h>
#include <torchport/session.h>

#include "base/text.h"
#include "runtime/deploy/torch_releases.h"
#include "versions/version.h"

namespace torchport {

namespace {

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
