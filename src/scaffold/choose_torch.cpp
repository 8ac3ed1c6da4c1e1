#include "scaffold/choose_torch.h"

#include <algorithm>

#include <fmt/format.h>

#include "releases/table.h"
#include "scaffold/device_target.h"
#include "versions/version.h"

namespace torchport::scaffold {

namespace {

using releases::TorchRelease;

std::string place_of(const Requirement& requirement) {
  return fmt::format("{}:{}", requirement.at.file, requirement.at.line);
}

// The version of this release for the target; empty if it does not fit the target.
std::string version_of(const TorchRelease& release, const TargetOptions& options) {
  if (!options.virtual_devices) return release.version;
  return release.runtime ? release.runtime->serves.back().first : std::string();
}

bool has_python(const TorchRelease& release, const Project& project, const TargetOptions& options) {
  const std::string& wanted = options.python.empty() ? project.python_pin : options.python;
  return std::any_of(release.pythons.begin(), release.pythons.end(), [&](const std::string& one) {
    return wanted.empty() ? allows_python(project, one) : one == wanted;
  });
}

// The newest version that fits the target and that the specifier allows; empty if there is none.
std::string newest_for(const Project& project, const TargetOptions& options,
                       const DeviceTarget& device, std::string_view specifier) {
  for (const TorchRelease& release : releases::table().releases) {
    const std::string version = version_of(release, options);
    if (!version.empty() && versions::allows(specifier, version).value_or(false) &&
        device.has_build(release, project, options) && has_python(release, project, options))
      return version;
  }
  return {};
}

// The newest release that the specifier allows, for the error if no release fits all requests.
std::string newest_allowed(const TargetOptions& options, std::string_view specifier) {
  for (const TorchRelease& release : releases::table().releases) {
    const std::string version = version_of(release, options);
    if (!version.empty() && versions::allows(specifier, version).value_or(false)) return version;
  }
  return {};
}

base::Result<std::string> from_table(const Project& project, const TargetOptions& options,
                                     const DeviceTarget& device, const Requirement* stated) {
  const std::string_view specifier = stated == nullptr ? std::string_view() : stated->specifier;
  std::string version = newest_for(project, options, device, specifier);
  if (version.empty()) version = newest_allowed(options, specifier);
  if (!version.empty()) return version;
  return base::fail(base::ErrorCode::kUsage,
                    fmt::format("{} asks for torch {}, but the releases that torchport knows {}are "
                                "{} to {}: name the version with --torch, e.g. --torch {}",
                                place_of(*stated), stated->specifier,
                                options.virtual_devices ? "and has virtual devices for " : "",
                                releases::table().releases.back().version, releases::newest_torch(),
                                newest_allowed(options, {})));
}

// Adds why it is not the newest torch, and what users of the release have to know.
void add_reasons(const Project& project, const TargetOptions& options, const Requirement* stated,
                 const std::string& version, Target& target) {
  const TorchRelease& newest = releases::table().releases.front();
  const bool allowed =
      stated == nullptr || versions::allows(stated->specifier, newest.version).value_or(false);
  if (version != newest.version && allowed) {
    std::string why;
    if (version_of(newest, options).empty())
      why = "has no virtual devices yet";
    else if (!target.device->has_build(newest, project, options))
      why = fmt::format("has no known build for {}", target.device->name);
    else if (!has_python(newest, project, options))
      why = fmt::format("has wheels for Python {} only", fmt::join(newest.pythons, ", "));
    if (!why.empty())
      target.notes.push_back(fmt::format("torch {}, the newest, {}", newest.version, why));
  }
  if (const TorchRelease* release = releases::release_of(version))
    for (const std::string& change : release->changes)
      target.notes.push_back(fmt::format("torch {}: {}", version, change));
}

}  // namespace

bool allows_python(const Project& project, const std::string& python) {
  return versions::allows(project.python, python + ".99").value_or(false);
}

base::Result<std::string> choose_torch(const Project& project, const TargetOptions& options,
                                       Target& target) {
  const Requirement* stated = project.of("torch");
  if (!options.torch.empty()) {
    if (stated != nullptr && !versions::allows(stated->specifier, options.torch).value_or(true))
      target.notes.push_back(fmt::format("{} asks for torch {}, but --torch {} is used instead",
                                         place_of(*stated), stated->specifier, options.torch));
    return options.torch;
  }
  if (stated != nullptr)
    if (std::string pin = versions::without_local(versions::pinned(stated->specifier));
        !pin.empty())
      return pin;
  auto version = from_table(project, options, *target.device, stated);
  if (!version) return version;
  if (stated == nullptr)
    target.notes.push_back(fmt::format("no file asks for torch: {} is used", *version));
  else if (!stated->specifier.empty())
    target.notes.push_back(
        fmt::format("{} allows torch {} ({})", place_of(*stated), *version, stated->specifier));
  add_reasons(project, options, stated, *version, target);
  return version;
}

}  // namespace torchport::scaffold
