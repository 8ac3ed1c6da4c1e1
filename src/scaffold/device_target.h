// Defines device targets: what `torchport container` has to know about a device that it writes
// files for. Each is one file under targets/ that registers itself. No list names them, and no
// other file asks which one it has.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "releases/table.h"
#include "scaffold/project.h"
#include "scaffold/target.h"

namespace torchport::scaffold {

// How CUDA sources are compiled for the GPUs of a device.
struct GpuCode {
  std::string_view example;  // a value of --arch-list, quoted for a shell
  // The user's architectures, in the form that every reader of the variable accepts. Fails with
  // kUsage.
  base::Result<std::string> (*stated_archs)(const std::string& arch_list,
                                            const std::string& variant) = nullptr;
  // The architectures that the target's build of torch has kernels for; empty if they are unknown.
  std::string (*archs_of_torch)(const Target& target) = nullptr;
  // The variables that the compilation needs, in the words of a Dockerfile's ENV.
  std::string (*variables)(const std::string& arch_list) = nullptr;
};

struct DeviceTarget {
  std::string_view name;  // "cuda"
  int order = 0;          // its position where devices are listed
  // The release's build for the device: "cu130"; empty if it has none or none is known. `release`
  // is null if the table does not have the version.
  std::string (*variant_of)(const releases::TorchRelease* release) = nullptr;
  // Whether a variant can be one for the device.
  bool (*takes)(std::string_view variant) = nullptr;
  // Whether the release has a build that the options allow, with all that the project's native code
  // needs.
  bool (*has_build)(const releases::TorchRelease& release, const Project& project,
                    const TargetOptions& options) = nullptr;
  // The base images, each pinned to a release of its contents. Fails with kUsage if no pair of
  // images fits the target: the distribution does not have the Python, or no image with the
  // compiler is known.
  base::Result<Images> (*images)(const Project& project, const Target& target) = nullptr;
  // The Python that comes with the images; empty if they exist for all. Null: they do.
  std::string (*python_of_images)(const Project& project, const std::string& variant) = nullptr;
  // A note on what hosts need; empty if it is unknown. Null: nothing special.
  std::string (*host_note)(const std::string& variant) = nullptr;
  std::optional<GpuCode> gpu_code = {};  // none: CUDA sources are left out
  // The platform of the image: "linux/amd64"; empty: any. The table of releases knows wheels for
  // GPUs only for x86_64.
  std::string_view platform = {};
  std::string_view variables = {};  // of the container that runs, in the words of ENV
  // How compose.yaml gives the device to the container: device nodes, with the groups that own
  // them, or lines of the service.
  std::vector<std::string_view> device_nodes = {};
  std::string_view compose_lines = {};
};

struct DeviceTargetRegistration {
  explicit DeviceTargetRegistration(DeviceTarget target);
};

// All device targets, in their order.
[[nodiscard]] const std::vector<DeviceTarget>& device_targets();
// Null if there is none of this name.
[[nodiscard]] const DeviceTarget* find_device_target(std::string_view name);

}  // namespace torchport::scaffold
