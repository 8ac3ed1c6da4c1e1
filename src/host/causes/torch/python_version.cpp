// Finds a Python that no release of torch has wheels for.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "host/causes/cause.h"
#include "host/causes/install.h"
#include "releases/table.h"
#include "versions/version.h"

namespace torchport::host::torch {

namespace {

bool has_wheels(const std::string& python) {
  const auto& releases = releases::table().releases;
  return std::any_of(releases.begin(), releases.end(), [&](const auto& release) {
    const auto& pythons = release.pythons;
    return std::find(pythons.begin(), pythons.end(), python) != pythons.end();
  });
}

std::optional<Diagnosis> no_wheels(const Facts& facts) {
  // What wheels there are for Pythons without the GIL ("3.14t") is not in the table.
  if (facts.torch() != nullptr || facts.python.empty() || facts.python.ends_with('t'))
    return std::nullopt;
  if (has_wheels(facts.python)) return std::nullopt;
  const auto& releases = releases::table().releases;
  const releases::TorchRelease& newest = releases.front();
  const releases::TorchRelease& oldest = releases.back();
  const bool too_new = versions::older(newest.pythons.back(), facts.python);
  return Diagnosis{
      "no-wheels-for-python",
      too_new
          ? fmt::format("Python {} is newer than those that torch has wheels for: {}, the newest "
                        "release, has them for {} to {}",
                        facts.python, newest.version, newest.pythons.front(), newest.pythons.back())
          : fmt::format("Python {} is older than those that torch has wheels for: {}, the oldest "
                        "release that torchport knows, has them for {} to {}",
                        facts.python, oldest.version, oldest.pythons.front(),
                        oldest.pythons.back()),
      fmt::format("make an environment of Python {} to {}: uv venv --python {}",
                  newest.pythons.front(), newest.pythons.back(),
                  newest.pythons[newest.pythons.size() / 2]),
      kBuild};
}

// The build that fits this machine may be of a release without wheels for this Python.
std::optional<Diagnosis> no_fitting_wheels(const Facts& facts) {
  Facts any = facts;
  std::string python = std::exchange(any.python, {});
  if (!any.torches.empty() && !any.torches.front().python.empty())
    python = std::exchange(any.torches.front().python, {});
  if (!has_wheels(python) || !install_lines(facts).empty()) return std::nullopt;
  const std::vector<std::string> lines = install_lines(any);
  if (lines.empty()) return std::nullopt;
  return Diagnosis{
      "no-wheels-for-python",
      fmt::format("the builds of torch that fit this machine have no wheels for Python {}", python),
      fmt::format("make an environment with an older Python, and install there: {}", lines.front()),
      kBuild, false};
}

const CauseRegistration kNoFittingWheels(&no_fitting_wheels);
const CauseRegistration kNoWheels(&no_wheels);

}  // namespace

}  // namespace torchport::host::torch
