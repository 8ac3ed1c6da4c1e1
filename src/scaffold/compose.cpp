#include <fmt/format.h>

#include "base/file_system.h"
#include "scaffold/container.h"
#include "scaffold/device_target.h"
#include "scaffold/shell.h"

namespace torchport::scaffold {

namespace {

// The group that owns the device nodes has a different number on every host, and no name in the
// image.
constexpr std::string_view kGroups = R"(    group_add:
      - "${VIDEO_GID:-44}"
      # The host's: getent group render | cut -d: -f3
      - "${RENDER_GID:?set RENDER_GID to the id of the host's group render}"
)";

std::string device_lines(const DeviceTarget& device) {
  std::string text(device.compose_lines);
  if (device.device_nodes.empty()) return text;
  text += "    devices:\n";
  for (const std::string_view node : device.device_nodes) text += fmt::format("      - {}\n", node);
  return text.append(kGroups);
}

}  // namespace

std::string compose_file(const Project& project, const Target& target,
                         const ContainerOptions& options) {
  const std::string name = image_name(project);
  std::string text = fmt::format(
      "# Written by torchport {}: torchport container --device {}\nname: {}\nservices:\n  app:\n"
      "    image: \"{}:{}\"\n",
      options.version, target.device->name, json_string(name), name, target.variant);
  text +=
      fmt::format("    build:\n      context: {}\n      dockerfile: {}\n      target: runtime\n",
                  json_string(options.context), json_string(options.dockerfile));
  if (!target.device->platform.empty())
    text += fmt::format("    platform: {}\n", target.device->platform);
  text +=
      "    init: true\n"
      "    # DataLoader's workers pass tensors in shared memory; Docker's default limit is 64 "
      "MB.\n"
      "    shm_size: 2gb\n"
      "    cap_drop: [ALL]\n"
      "    security_opt:\n      - no-new-privileges:true\n";
  return text + device_lines(*target.device);
}

std::string ignore_file(const ContainerOptions& options) {
  std::string text = fmt::format("# Written by torchport {}\n", options.version);
  text += R"(# Version control, environments, what is made
.git
.venv
venv
**/__pycache__
**/*.py[co]
**/*.so
**/*.egg-info
.mypy_cache
.pytest_cache
.ruff_cache
.torchport
build
dist
# Secrets
**/.env
**/.env.*
**/*.key
**/*.pem
**/.netrc
**/.pypirc
**/.aws
**/.ssh
**/.git-credentials
**/id_ed25519*
**/id_rsa*
# The image's own description
**/Dockerfile*
**/*.dockerignore
**/compose*.yaml
)";
  if (options.torchport.ends_with(".whl")) text += fmt::format("!{}\n", options.torchport);
  return text;
}

}  // namespace torchport::scaffold
