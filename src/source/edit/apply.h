// Applies the fixes of one file to its text.
//
// Fixes are computed independently of each other, so several may change the same bytes. This
// function chooses those that go together, so that rules need not know of each other. The others
// get their turn when the new text is checked again (rules/converge.h). All functions are thread
// safe.
#pragma once

#include <string>
#include <vector>

#include "source/edit/device_source.h"
#include "source/edit/edit.h"

namespace torchport::edit {

struct Applied {
  std::string text;
  std::vector<std::size_t> used;  // indices into `fixes`, in the order given
  bool gives_device = false;      // the module got its device variable
};

// Applies as many of the fixes as go together. They are taken in order of position; a fix that
// touches bytes of an accepted one waits for the next pass. A fix is applied completely or not at
// all. What several accepted fixes need (an import, the device variable) is inserted once.
[[nodiscard]] Applied apply_fixes(std::string_view text, const std::vector<const Fix*>& fixes,
                                  const DeviceSource& devices);

// Does the same for a file that is not Python, which has no imports and no device variable.
[[nodiscard]] Applied apply_fixes(std::string_view text, const std::vector<const Fix*>& fixes);

}  // namespace torchport::edit
