// What nvidia-smi, the tool of NVIDIA's driver, says of virtual devices, in its forms: the table,
// the list of devices, and the answers to queries as CSV. Programs start it to log a machine, to
// find a device with free memory, or to learn the driver's release.
//
// A figure that a virtual device does not have, as its temperature, is what the tool says on a
// device that cannot tell: [N/A].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "runtime/device/accounts.h"
#include "runtime/device/spec.h"

namespace torchport::device {

// A device and the processes that use it.
struct ManagedDevice {
  int number = 0;
  int count = 0;     // of all devices of the machine
  std::string name;  // "NVIDIA H100 80GB HBM3"
  std::string uuid;
  const devices::Profile* profile = nullptr;               // not null
  std::uint64_t total = 0;                                 // bytes
  std::vector<std::pair<pid_t, std::uint64_t>> processes;  // bytes of each
  [[nodiscard]] std::uint64_t used() const;
};

// The devices of a spec with the memory that processes have published. Processes with devices of
// another kind or memory are those of another program. REQUIRED: the spec is not "none".
[[nodiscard]] std::vector<ManagedDevice> managed_devices(
    const Spec& spec, const std::vector<std::pair<pid_t, std::vector<Account>>>& accounts);

// As `nvidia-smi -L`.
[[nodiscard]] std::string list_of_devices(const std::vector<ManagedDevice>& devices);
// As `nvidia-smi`. `time` is written into its first line.
[[nodiscard]] std::string table_of_devices(const std::vector<ManagedDevice>& devices,
                                           std::string_view time);

struct QueryFormat {
  bool header = true;
  bool units = true;
};

// As `nvidia-smi --query-gpu=FIELDS --format=csv`, and `--query-compute-apps`, a line for each
// device or process. Fails with kUsage if a field is none; the message is the tool's.
[[nodiscard]] base::Result<std::string> query_devices(const std::vector<ManagedDevice>& devices,
                                                      const std::vector<std::string>& fields,
                                                      QueryFormat format, std::string_view time);
[[nodiscard]] base::Result<std::string> query_processes(const std::vector<ManagedDevice>& devices,
                                                        const std::vector<std::string>& fields,
                                                        QueryFormat format, std::string_view time);

}  // namespace torchport::device
