// Finds a Python that no release of torch has wheels for.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "host/causes/cause.h"
#include "releases/table.h"
#include "versions/version.h"

namespace torchport::host {

namespace {

std::optional<Diagnosis> no_wheels(const Facts& facts) {
  // What wheels there are for Pythons without the GIL ("3.14t") is not in the table.
  if (facts.torch() != nullptr || facts.python.empty() || facts.python.ends_with('t'))
    return std::nullopt;
  const auto& releases = releases::table().releases;
  const bool known = std::any_of(releases.begin(), releases.end(), [&](const auto& release) {
    const auto& pythons = release.pythons;
    return std::find(pythons.begin(), pythons.end(), facts.python) != pythons.end();
  });
  if (known) return std::nullopt;
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

const CauseRegistration kNoWheels(&no_wheels);

}  // namespace

}  // namespace torchport::host
