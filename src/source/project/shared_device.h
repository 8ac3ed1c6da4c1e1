// Gives the files of a package one device: the choice between devices is written once a package.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/file_system.h"
#include "source/edit/settings.h"
#include "source/flow/packages.h"
#include "source/project/undo.h"

namespace torchport::project {

struct SharedDevices {
  struct Use {
    edit::SharedDevice device;
    std::string from;  // the path of the module that offers it
  };
  std::unordered_map<std::string, Use> by_path;  // of the files that can import one
  std::vector<Change> created;                   // the modules that they need
};

// The fewest files for which a package gets a new module.
inline constexpr std::size_t kFewestSharing = 2;

// Looks for the place that the files in `needing`, whose fixes use a device of their own, can take
// it from: a variable or a function that the package has in a module that imports nothing of the
// package; else, where kFewestSharing files or more would choose for themselves, a new module
// `_device.py` in the package's folder, if `files`, all that may be written, hold that folder's
// `__init__.py`. A file that may be run as a script, or that nothing imports as a part of a
// package, chooses for itself.
[[nodiscard]] SharedDevices share_devices(const base::FileSystem& fs,
                                          const flow::Packages& packages,
                                          const std::vector<std::string>& needing,
                                          const std::vector<std::string>& files,
                                          const edit::Settings& settings);

}  // namespace torchport::project
