#include "host/causes/hidden_torch.h"

#include <string>

#include <fmt/format.h>

#include "base/file_system.h"
#include "base/text.h"

namespace torchport::host {

namespace {

// The folder of PYTHONPATH that leads to this torch; empty if none does.
std::string folder_of_pythonpath(const Facts& facts, const Torch& torch) {
  const auto path = facts.variable("PYTHONPATH");
  if (!path) return {};
  for (const std::string_view folder : base::split(*path, ':'))
    if (!folder.empty() && base::join_path(folder, "torch") == torch.root)
      return std::string(folder);
  return {};
}

}  // namespace

Facts without_first_torch(const Facts& facts) {
  Facts behind = facts;
  behind.torches.erase(behind.torches.begin());
  return behind;
}

Diagnosis hides_torch(const Facts& facts) {
  const Torch& first = facts.torches[0];
  const Torch& second = facts.torches[1];
  std::string how = "Python imports the first that it finds";
  std::string remedy =
      fmt::format("remove it: python -m pip uninstall torch, until {} is gone", first.root);
  if (const std::string folder = folder_of_pythonpath(facts, first); !folder.empty()) {
    how = fmt::format("PYTHONPATH has {} before the environment", folder);
    remedy = fmt::format("remove {} from PYTHONPATH", folder);
  } else if (first.root.find("/.local/") != std::string::npos) {
    how = "Python looks in the user's site first";
    remedy = fmt::format(
        "remove it: python -m pip uninstall torch, until {} is gone; or set "
        "PYTHONNOUSERSITE=1, or run python -s",
        first.root);
  }
  return {"hidden-torch",
          fmt::format("torch {} in {} hides torch {} in {}: {}", first.version, first.root,
                      second.version, second.root, how),
          remedy, kHardware};
}

}  // namespace torchport::host
