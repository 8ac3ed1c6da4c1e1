// Reads and writes the modules that other modules of a package take their device from.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "source/edit/settings.h"
#include "source/semantics/semantic_model.h"

namespace torchport::edit {

// What a module offers to the others of its package: a variable or a function without required
// parameters that is a torch.device, chosen by looking for an accelerator. None if there is no such
// thing, or if importing the module imports others of the package `package`, which may import the
// one that asks. `module` of the result is empty.
[[nodiscard]] std::optional<SharedDevice> offered_device(const semantics::SemanticModel& model,
                                                         std::string_view package);

// Whether importing the module imports others of its package.
[[nodiscard]] bool imports_package(const semantics::SemanticModel& model, std::string_view package);

// The text of a module that offers DEVICE.
[[nodiscard]] std::string device_module(const Settings& settings);

}  // namespace torchport::edit
